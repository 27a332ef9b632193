#include "tools/report/page_style.h"

#include <fmt/format.h>

#include "tools/report/svg.h"

namespace shardline::tools {
namespace {

constexpr const char* kLayout = R"(
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 63rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 3rem 0 0.75rem; padding-top: 0.75rem; border-top: 1px solid var(--grid); font-size: 1.2rem; line-height: 1.3; }
p { margin: 0.75rem 0; max-width: 42rem; overflow-wrap: anywhere; }
.summary { font-size: 1.1rem; color: var(--muted); }
.warning { padding: 0.6rem 1rem; border-left: 4px solid var(--c1); background: var(--shade); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.25rem 1.5rem; margin: 1.5rem 0 0; font-size: 0.925rem; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0 1.75rem; }
figure > svg { display: block; width: 100%; max-width: 42rem; height: auto; font-family: inherit; }
figcaption { margin-top: 0.5rem; max-width: 42rem; font-size: 0.875rem; line-height: 1.45; color: var(--muted); }
ol { margin: 0.6rem 0 0; padding-left: 2rem; max-width: 42rem; columns: 14rem; column-gap: 2rem; font-size: 0.875rem; line-height: 1.5; }
li { overflow-wrap: anywhere; break-inside: avoid; }
li::marker { color: var(--muted); }
pre, .table { overflow-x: auto; max-width: 100%; }
pre { margin: 1rem 0; padding: 0.8rem 1rem; border-radius: 6px; background: var(--shade); font: 0.825rem/1.5 ui-monospace, monospace; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0 0.3rem 1rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { color: var(--muted); font-weight: 500; }
.word { text-align: left; }
td.word { white-space: normal; }
td.word + td.word { min-width: 11rem; }
th:first-child, td:first-child { padding-left: 0; }
summary { cursor: pointer; color: var(--muted); }
@media (max-width: 40rem) {
  main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.4rem; }
  h2 { margin-top: 2.25rem; }
  figure > svg { font-size: 15px; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 0.5rem; }
}
@media (max-width: 30rem) { figure > svg { font-size: 18px; } }
@media print {
  @page { margin: 15mm; }
  html { color-scheme: light; font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h2 { margin-top: 1.5rem; break-after: avoid; }
  figure, tr, dl, .warning { break-inside: avoid; }
  figure > svg { max-width: 120mm; font-size: 13px; }
  pre { white-space: pre-wrap; border: 1px solid var(--grid); }
  ol { margin: 0.6rem 0 0; padding-left: 2rem; max-width: 46rem; columns: 14rem; column-gap: 2rem; font-size: 0.875rem; line-height: 1.5; }
li { overflow-wrap: anywhere; break-inside: avoid; }
li::marker { color: var(--muted); }
pre, .table { overflow: visible; }
  th, td { padding-left: 0.7rem; }
  table { font-size: 8pt; }
}
)";

/// "--text: #1c2128; ..."
std::string variables(bool dark) {
  std::string text = fmt::format("--shade: {};", dark ? "#1d2229" : "#f4f6f8");
  for (const Ink& ink : inks()) text += fmt::format(" --{}: {};", ink.name, dark ? ink.dark : ink.light);
  return text;
}

}  // namespace

std::string page_style() {
  std::string text = fmt::format(":root {{ {} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {} }} }}",
                                 variables(false), variables(true));
  text += kLayout;
  for (const Ink& ink : inks()) {
    text += fmt::format(".f-{0} {{ fill: var(--{0}); }} .s-{0} {{ stroke: var(--{0}); }}\n", ink.name);
  }
  return text;
}

}  // namespace shardline::tools
