//! [`Space`]: memory as regions with nothing between them.

/// Memory as regions with nothing between them: an address outside all of them is an error.
#[derive(Default)]
pub(in crate::codegen::tests) struct Space {
    regions: Vec<Region>,
}

struct Region {
    name: String,
    start: u64,
    bytes: Vec<u8>,
    writable: bool,
}

/// Regions begin so far apart, the first at the second multiple.
const APART: u64 = 1 << 32;

impl Space {
    /// A region at an address that is a multiple of 64, which is given.
    pub fn place(&mut self, name: impl Into<String>, bytes: &[u8], writable: bool) -> u64 {
        self.place_at(name, bytes, writable, 0)
    }

    /// A region `shift` bytes behind a multiple of 64; its address.
    pub fn place_at(&mut self, name: impl Into<String>, bytes: &[u8], writable: bool, shift: usize) -> u64 {
        let start = (self.regions.len() as u64 + 1) * APART + (1 << 20) + shift as u64;
        self.regions.push(Region { name: name.into(), start, bytes: bytes.to_vec(), writable });
        start
    }

    /// Where `bytes` bytes at `address` lie.
    fn find(&self, address: u64, bytes: usize) -> Result<(usize, usize), String> {
        let at = (address / APART).wrapping_sub(1) as usize;
        let Some(region) = self.regions.get(at) else {
            return Err(format!("{address:#x} is nowhere"));
        };
        let offset = address.wrapping_sub(region.start);
        let room = region.bytes.len() as u64;
        if offset > room || bytes as u64 > room - offset {
            let (name, offset) = (&region.name, offset as i64);
            return Err(format!("{bytes} bytes at {offset} of {name}, which has {room}"));
        }
        Ok((at, offset as usize))
    }

    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        let (at, offset) = self.find(address, bytes)?;
        Ok(&self.regions[at].bytes[offset..offset + bytes])
    }

    /// As [`Space::read`], less where the region ends.
    pub fn read_at_most(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        let (at, offset) = self.find(address, 1)?;
        let all = &self.regions[at].bytes[offset..];
        Ok(&all[..bytes.min(all.len())])
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let (at, offset) = self.find(address, bytes.len())?;
        let region = &mut self.regions[at];
        if !region.writable {
            return Err(format!("{} is not to be written", region.name));
        }
        region.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// All bytes of the region that begins at `start`.
    pub fn region(&self, start: u64) -> &[u8] {
        let region = self.regions.iter().find(|region| region.start == start);
        region.map_or(&[], |region| &region.bytes)
    }
}
