"""Formats the results as a Markdown table."""

import math

ENGINES = ["jax", "tf", "tf xla", "torch.compile", "ort", "tract"]


def figure(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(results, names):
    names = [name for name in names if any(name in result["peers"] for result in results)]
    head = ["row", "ours", *names, "fastest", "ratio", "ratio of minima"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for result in results:
        peers = [figure(result["peers"].get(name)) + ("*" if name in result["disagree"] else "") for name in names]
        ours = figure(result["ours_us"]) + (f" (cold {figure(result['cold_us'])})" if "cold_us" in result else "")
        ratios = [figure(result["ratio"]), figure(result["ratio_of_least"])]
        lines.append("| " + " | ".join([result["row"], ours, *peers, str(result["fastest_peer"]), *ratios]) + " |")
    lines.append("")
    lines.append("Times in microseconds, memory in MiB above the base; * marks a peer whose results differ from ours.")
    engines = []
    for result in results:
        figures = [result["peers"][name] for name in ENGINES
                   if name in result["peers"] and name not in result["disagree"]]
        if figures and result["ours_us"] and result["unit"] == "us" and result["how"] in ("RunInto", "Run"):
            engines.append(math.log(min(figures) / result["ours_us"]))
    if engines:
        mean = math.exp(sum(engines) / len(engines))
        lines.append(f"Geometric mean of the ratios to the fastest graph engine, {len(engines)} rows: {mean:.2f}")
    behind = [result for result in results if result["ratio"] is not None and result["ratio"] < 1]
    lines.append(f"Behind the fastest peer: {len(behind)} of {len(results)} rows")
    return "\n".join(lines)
