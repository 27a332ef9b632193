#!/usr/bin/env bash
# Pages of the command, opened by a browser:
#
#   report_test.sh MPIRUN_SH LAUNCHER RANKS SHARDLINE REPORT_CHECK
#
# Without a headless Chromium the test writes the pages but does not check them, and counts as skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../command.sh" "$@"
source "$here/browser.sh"
report_check=$5
record=$folder/record.json

cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 20, "intermediate_size": 22, "num_hidden_layers": 2, "num_attention_heads": 6,
 "num_key_value_heads": 3, "head_dim": 4, "vocab_size": 256, "rms_norm_eps": 1e-5}
JSON
for i in {1..400}; do echo "line $((i * i % 97));"; done >"$folder/text <b>&amp;.txt"
small=(--model "$folder/config.json" --data "$folder/text <b>&amp;.txt" --batch 5 --seq 7)
product=(matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=64,J=48,K=56)
few=(bench --seconds 0.002 --bytes 1K:64K)

# silent FILE: no console message from the browser.
silent() {
  [[ -z $(console_messages) ]] || complain "the browser complains of $1: $(console_messages)"
}

# laid_out PAGE WIDTH SCHEME: nothing is wider than the window, no text overlaps or is cut off, letters are readable.
laid_out() {
  local body
  grep -vF 'http-equiv="Content-Security-Policy"' "$1" >"$folder/probe.html"
  cat "$here/report_probe.html" >>"$folder/probe.html"
  browse "$2" "$3" "$folder/probe.html" >"$folder/probe_dom"
  silent "the probe at width $2, $3"
  body=$(grep -o '<body [^>]*>' "$folder/probe_dom" || true)
  for expected in "data-width=\"$2\"" 'data-scrolls="false"' 'data-overlaps="0"' 'data-outside="0"'; do
    [[ $body == *"$expected"* ]] ||
      complain "at width $2, $3: not $expected: $body $(grep -oE '(overlap|outside): .*; ' "$folder/probe_dom" || true)"
  done
  [[ $body =~ data-texts=\"([0-9]+)\" ]] && ((BASH_REMATCH[1] > 10)) || complain "no texts in figures: $body"
  [[ $body =~ data-letters=\"([0-9]+) ]] && ((BASH_REMATCH[1] >= 9)) || complain "letters too small to read: $body"
  case $3 in
    light) [[ $body == *'data-paper="rgb(255, 255, 255)"'* ]] || complain "no white paper: $body" ;;
    dark) [[ $body == *'data-paper="rgb(20, 23, 28)"'* && $body == *'data-ink="rgb(228, 231, 235)"'* ]] ||
      complain "no dark page: $body" ;;
  esac
}

# refuses_network PAGE: the page's policy refuses a planted reference to the network.
refuses_network() {
  cp "$1" "$folder/planted.html"
  echo '<img src="http://127.0.0.1:9/x.png"><script>document.title = "ran";</script>' >>"$folder/planted.html"
  browse 1280 light "$folder/planted.html" >"$folder/planted_dom"
  (($(console_messages | grep -c 'Content Security Policy') >= 2)) ||
    complain "the policy of $1 lets things through: $(console_messages)"
  ! grep -qF '<title>ran' "$folder/planted_dom" || complain "a script ran in $1"
}

# reports NAME ARGS...: the command writes a right page with the name NAME.
reports() {
  local page=$folder/$1
  shift
  run "$@" --report "$page" --json "$record"
  expect_code 0
  [[ $(tail -n 1 "$page") == '</html>' ]] || complain "no whole page in $page"
  ! grep -qE '(src|href)=|url\(|@import|<(script|link|iframe|object|embed)\b' "$page" || complain "$page refers elsewhere"
  if [[ -z $browser ]]; then return; fi
  browse 1280 light "$page" >"$folder/dom"
  silent "$page"
  "$report_check" "$folder/dom" "$record" "$ranks" || complain "the page is not right"
  laid_out "$page" 360 light
  laid_out "$page" 1280 dark
}

reports train.html train "${small[@]}" --steps 6
grep -qF '/text &lt;b&gt;&amp;amp;.txt' "$folder/train.html" || complain "the command is not on the page as it was typed"
reports matmul.html "${product[@]}"
reports bench.html "${few[@]}" --plot "$folder/plot.svg"
reports "a \"quoted\" <name>'s.html" matmul "In[B, D_X] * W[D_X, F] -> Out[B, F]" --size B=5,D=7,F=3 --dtype f64
run train "${small[@]}" --steps 2 --save "$folder/model"
expect_code 0
printf 'line 1\nline\n7;\n' >"$folder/prompts.txt"
reports texts.html generate --load "$folder/model" --prompts "$folder/prompts.txt" --tokens 9
if ((ranks == 1)); then
  reports plan.html plan --model llama3-70b --chips 8960 --batch-tokens 4M
  reports generate.html plan --generate --model llama3-70b --hardware v5e --dtype int8 --chips 16 --price-per-hour 1.2
fi
if ((ranks > 1)); then
  reports own.html generate --load "$folder/model" --prompt "line 1" --tokens 9 --strategy tp_rep=X --prefill-strategy cp_s=X \
    --prefill-state own
  reports many.html "${product[@]}" --threads "$(nproc)"  # more threads than cores
  reports stages.html train "${small[@]}" --steps 6 --mesh "Z=$ranks" --strategy pp=Z --micro-batches 5 --timetable zb_h1
  reports ring.html "${few[@]}" all_reduce all_to_all --algorithm ring,native,auto --mesh "Y=$ranks"
fi
if [[ -n $browser ]]; then refuses_network "$folder/train.html"; fi

if ((ranks == 2)); then
  for command in train matmul bench; do
    run "$command" --help
    expect_lines out 1 "--report "
  done
  refused "$folder/nowhere/r.html" train "${small[@]}" --report "$folder/nowhere/r.html"
  refused "$folder/nowhere/r.html" "${product[@]}" --report "$folder/nowhere/r.html"
  refused "$folder/nowhere/r.html" "${few[@]}" --report "$folder/nowhere/r.html"
  refused "--report: it is empty" train "${small[@]}" --report ""
  refused "--report: it is empty" "${product[@]}" --report ""
  refused "--report: it is empty" "${few[@]}" --report ""
  refused "--report $folder/f: the record of --json goes there" train "${small[@]}" --json "$folder/f" --report "$folder/f"
  refused "--report $folder/f: the trace of --trace goes there" "${product[@]}" --trace "$folder/f" --report "$folder/f"
  refused "--report $folder/f: the trace of --trace goes there" train "${small[@]}" --trace "$folder/f" --report "$folder/f"
  refused "--report $folder/f: the plot of --plot goes there" "${few[@]}" --plot "$folder/f" --report "$folder/f"
  refused "--report $folder/./f: the table of --csv goes there" "${few[@]}" --csv "$folder/f" --report "$folder/./f"
  [[ ! -e $folder/f ]] || complain "a refused run left a file"
fi

if [[ -z $browser ]]; then
  ((failures == 0)) || exit 1
  echo "SKIP: no headless Chromium (chromium-headless-shell) to look at the pages with"
  exit 77
fi
finish
