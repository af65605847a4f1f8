//! The bodies of four kernels, copied from the text of `Executable::kernels`, for LLVM to compile.

/// Computes one element of `exp`.
#[inline(always)]
pub fn exp(v2: f32) -> f32 {
    let v4 = v2 < -104.0_f32;
    let v5 = if v4 { -104.0_f32 } else { v2 };
    let v6 = 89.0_f32 < v5;
    let v7 = if v6 { 89.0_f32 } else { v5 };
    let v10 = v7.mul_add(1.442695_f32, 12583166.0_f32);
    let v11 = v10 - 12583166.0_f32;
    let v14 = v11.mul_add(-0.6933594_f32, v7);
    let v15 = v11.mul_add(0.00021219444_f32, v14);
    let v17 = 0.0013838966_f32.mul_add(v15, 0.008369194_f32);
    let v19 = v17.mul_add(v15, 0.041668102_f32);
    let v21 = v19.mul_add(v15, 0.16666517_f32);
    let v23 = v21.mul_add(v15, 0.49999994_f32);
    let v25 = v23.mul_add(v15, 1.0_f32);
    let v26 = v25.mul_add(v15, 1.0_f32);
    let v27 = v10.to_bits();
    let v29 = v27 >> 1;
    let v31 = v29 << 23;
    let v32 = f32::from_bits(v31);
    let v33 = v26 * v32;
    let v34 = v27 << 23;
    let v35 = v34.wrapping_sub(v31);
    let v36 = f32::from_bits(v35);
    let v37 = v33 * v36;
    v37
}

/// Computes one element of `gelu_tanh`.
#[inline(always)]
pub fn gelu_tanh(v1: f32) -> f32 {
    let v2 = v1 * v1;
    let v3 = v2.mul_add(-0.10294324_f32, -2.3022082_f32);
    let v4 = v1 * v3;
    let v5 = if v4 < -126.0_f32 { -126.0_f32 } else { v4 };
    let v6 = if 128.0_f32 < v5 { 128.0_f32 } else { v5 };
    let v7 = v6 + 12583039.0_f32;
    let v8 = v7 - 12583039.0_f32;
    let v9 = v6 - v8;
    let v10 = 0.0013269521_f32.mul_add(v9, 0.009671291_f32);
    let v11 = v10.mul_add(v9, 0.05550711_f32);
    let v12 = v11.mul_add(v9, 0.24022247_f32);
    let v13 = v12.mul_add(v9, 0.693147_f32);
    let v14 = v13.mul_add(v9, 1.0_f32);
    let v15 = f32::from_bits(v7.to_bits() << 23);
    let v16 = v14.mul_add(v15, 1.0_f32);
    v1 / v16
}

/// Computes one element of `gelu_erf`.
#[inline(always)]
pub fn gelu_erf(v1: f32) -> f32 {
    let v2 = 0.5_f32 * v1;
    let v5 = v1 * 0.70710677_f32;
    let v6 = v5.abs();
    let v8 = v6 < 0.9375_f32;
    let v10 = v5 * v5;
    let v12 = 0.00008000279_f32.mul_add(v10, -0.00080503843_f32);
    let v14 = v12.mul_add(v10, 0.005192438_f32);
    let v16 = v14.mul_add(v10, -0.026855737_f32);
    let v18 = v16.mul_add(v10, 0.11283626_f32);
    let v20 = v18.mul_add(v10, -0.3761263_f32);
    let v22 = v20.mul_add(v10, 0.12837917_f32);
    let v23 = v22.mul_add(v6, v6);
    let v28 = 4.0_f32 < v6;
    let v29 = if v28 { 4.0_f32 } else { v6 };
    let v31 = (-0.00030717815_f32).mul_add(v29, 0.004625577_f32);
    let v33 = v31.mul_add(v29, -0.03298293_f32);
    let v35 = v33.mul_add(v29, 0.15179817_f32);
    let v37 = v35.mul_add(v29, 0.9171949_f32);
    let v39 = v37.mul_add(v29, 0.6280882_f32);
    let v40 = v39.mul_add(v29, v29);
    let v41 = 12583039.0_f32 - v40;
    let v42 = v41 - 12583039.0_f32;
    let v43 = v42 + v40;
    let v45 = 0.0013269521_f32.mul_add(v43, -0.009671291_f32);
    let v47 = v45.mul_add(v43, 0.05550711_f32);
    let v49 = v47.mul_add(v43, -0.24022247_f32);
    let v51 = v49.mul_add(v43, 0.693147_f32);
    let v53 = v51.mul_add(v43, -1.0_f32);
    let v54 = v41.to_bits();
    let v56 = v54 << 23;
    let v57 = f32::from_bits(v56);
    let v58 = v53.mul_add(v57, 1.0_f32);
    let v59 = if v8 { v23 } else { v58 };
    let v60 = v59.to_bits();
    let v61 = v5.to_bits();
    let v63 = v61 & 2147483648;
    let v64 = v60 | v63;
    let v65 = f32::from_bits(v64);
    let v66 = 1.0_f32 + v65;
    let v67 = v2 * v66;
    v67
}

/// Computes one element of `black_scholes`: the price of a call option. `v2` is the strike, `v0` the price of the share
/// and `v61` the time to expiry. The interest rate is 0.05 and the volatility is 0.2.
#[inline(always)]
pub fn black_scholes(v2: f32, v0: f32, v61: f32) -> f32 {
    let v3 = v0 / v2;
    let v4 = 0.0_f32 < v3;
    let v6 = v3 < f32::INFINITY;
    let v8 = v3 < 1.1754944e-38_f32;
    let v10 = v3 * 16777216.0_f32;
    let v11 = if v8 { v10 } else { v3 };
    let v12 = v11.to_bits();
    let v14 = v12.wrapping_add(4913933);
    let v16 = v14 >> 23;
    let v18 = v16 | 1258291200;
    let v19 = f32::from_bits(v18);
    let v22 = if v8 { 8388759.0_f32 } else { 8388735.0_f32 };
    let v23 = v19 - v22;
    let v26 = v14 & 8388607;
    let v28 = v26.wrapping_add(1060439283);
    let v29 = f32::from_bits(v28);
    let v31 = v29 + -1.0_f32;
    let v32 = v31 * v31;
    let v35 = (-0.07634404_f32).mul_add(v31, 0.12761524_f32);
    let v37 = v35.mul_add(v31, -0.13160193_f32);
    let v39 = v37.mul_add(v31, 0.14201766_f32);
    let v41 = v39.mul_add(v31, -0.16623357_f32);
    let v43 = v41.mul_add(v31, 0.20001227_f32);
    let v45 = v43.mul_add(v31, -0.2500082_f32);
    let v47 = v45.mul_add(v31, 0.3333333_f32);
    let v49 = v47.mul_add(v31, -0.5_f32);
    let v51 = v23 * -0.00021219444_f32;
    let v52 = v32.mul_add(v49, v51);
    let v53 = v31 + v52;
    let v54 = v23.mul_add(0.6933594_f32, v53);
    let v55 = if v6 { v54 } else { v3 };
    let v56 = v3 == 0.0_f32;
    let v59 = if v56 { f32::NEG_INFINITY } else { f32::NAN };
    let v60 = if v4 { v55 } else { v59 };
    let v63 = v61 * 0.07_f32;
    let v64 = v60 + v63;
    let v65 = v61.sqrt();
    let v67 = v65 * 0.2_f32;
    let v68 = v64 / v67;
    let v70 = v68 * 0.70710677_f32;
    let v71 = v70.abs();
    let v73 = v71 < 0.9375_f32;
    let v75 = v70 * v70;
    let v77 = 0.00008000279_f32.mul_add(v75, -0.00080503843_f32);
    let v79 = v77.mul_add(v75, 0.005192438_f32);
    let v81 = v79.mul_add(v75, -0.026855737_f32);
    let v83 = v81.mul_add(v75, 0.11283626_f32);
    let v85 = v83.mul_add(v75, -0.3761263_f32);
    let v87 = v85.mul_add(v75, 0.12837917_f32);
    let v88 = v87.mul_add(v71, v71);
    let v93 = 4.0_f32 < v71;
    let v94 = if v93 { 4.0_f32 } else { v71 };
    let v96 = (-0.00030717815_f32).mul_add(v94, 0.004625577_f32);
    let v98 = v96.mul_add(v94, -0.03298293_f32);
    let v100 = v98.mul_add(v94, 0.15179817_f32);
    let v102 = v100.mul_add(v94, 0.9171949_f32);
    let v104 = v102.mul_add(v94, 0.6280882_f32);
    let v105 = v104.mul_add(v94, v94);
    let v106 = 12583039.0_f32 - v105;
    let v107 = v106 - 12583039.0_f32;
    let v108 = v107 + v105;
    let v110 = 0.0013269521_f32.mul_add(v108, -0.009671291_f32);
    let v112 = v110.mul_add(v108, 0.05550711_f32);
    let v114 = v112.mul_add(v108, -0.24022247_f32);
    let v116 = v114.mul_add(v108, 0.693147_f32);
    let v117 = v116.mul_add(v108, -1.0_f32);
    let v118 = v106.to_bits();
    let v119 = v118 << 23;
    let v120 = f32::from_bits(v119);
    let v122 = v117.mul_add(v120, 1.0_f32);
    let v123 = if v73 { v88 } else { v122 };
    let v124 = v123.to_bits();
    let v125 = v70.to_bits();
    let v127 = v125 & 2147483648;
    let v128 = v124 | v127;
    let v129 = f32::from_bits(v128);
    let v131 = v129 * 0.5_f32;
    let v132 = v131 + 0.5_f32;
    let v133 = v0 * v132;
    let v137 = v61 * -0.05_f32;
    let v139 = v137 < -104.0_f32;
    let v140 = if v139 { -104.0_f32 } else { v137 };
    let v141 = 89.0_f32 < v140;
    let v142 = if v141 { 89.0_f32 } else { v140 };
    let v145 = v142.mul_add(1.442695_f32, 12583166.0_f32);
    let v146 = v145 - 12583166.0_f32;
    let v149 = v146.mul_add(-0.6933594_f32, v142);
    let v150 = v146.mul_add(0.00021219444_f32, v149);
    let v152 = 0.0013838966_f32.mul_add(v150, 0.008369194_f32);
    let v154 = v152.mul_add(v150, 0.041668102_f32);
    let v156 = v154.mul_add(v150, 0.16666517_f32);
    let v158 = v156.mul_add(v150, 0.49999994_f32);
    let v159 = v158.mul_add(v150, 1.0_f32);
    let v160 = v159.mul_add(v150, 1.0_f32);
    let v161 = v145.to_bits();
    let v163 = v161 >> 1;
    let v164 = v163 << 23;
    let v165 = f32::from_bits(v164);
    let v166 = v160 * v165;
    let v167 = v161 << 23;
    let v168 = v167.wrapping_sub(v164);
    let v169 = f32::from_bits(v168);
    let v170 = v166 * v169;
    let v171 = v2 * v170;
    let v172 = v68 - v67;
    let v173 = v172 * 0.70710677_f32;
    let v174 = v173.abs();
    let v175 = v174 < 0.9375_f32;
    let v176 = v173 * v173;
    let v177 = 0.00008000279_f32.mul_add(v176, -0.00080503843_f32);
    let v178 = v177.mul_add(v176, 0.005192438_f32);
    let v179 = v178.mul_add(v176, -0.026855737_f32);
    let v180 = v179.mul_add(v176, 0.11283626_f32);
    let v181 = v180.mul_add(v176, -0.3761263_f32);
    let v182 = v181.mul_add(v176, 0.12837917_f32);
    let v183 = v182.mul_add(v174, v174);
    let v184 = 4.0_f32 < v174;
    let v185 = if v184 { 4.0_f32 } else { v174 };
    let v186 = (-0.00030717815_f32).mul_add(v185, 0.004625577_f32);
    let v187 = v186.mul_add(v185, -0.03298293_f32);
    let v188 = v187.mul_add(v185, 0.15179817_f32);
    let v189 = v188.mul_add(v185, 0.9171949_f32);
    let v190 = v189.mul_add(v185, 0.6280882_f32);
    let v191 = v190.mul_add(v185, v185);
    let v192 = 12583039.0_f32 - v191;
    let v193 = v192 - 12583039.0_f32;
    let v194 = v193 + v191;
    let v195 = 0.0013269521_f32.mul_add(v194, -0.009671291_f32);
    let v196 = v195.mul_add(v194, 0.05550711_f32);
    let v197 = v196.mul_add(v194, -0.24022247_f32);
    let v198 = v197.mul_add(v194, 0.693147_f32);
    let v199 = v198.mul_add(v194, -1.0_f32);
    let v200 = v192.to_bits();
    let v201 = v200 << 23;
    let v202 = f32::from_bits(v201);
    let v203 = v199.mul_add(v202, 1.0_f32);
    let v204 = if v175 { v183 } else { v203 };
    let v205 = v204.to_bits();
    let v206 = v173.to_bits();
    let v207 = v206 & 2147483648;
    let v208 = v205 | v207;
    let v209 = f32::from_bits(v208);
    let v210 = v209 * 0.5_f32;
    let v211 = v210 + 0.5_f32;
    let v212 = v171 * v211;
    let v213 = v133 - v212;
    v213
}
