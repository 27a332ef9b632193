# Output that cannot be written.
section "Output that cannot be written"
product='"A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=8,J=8,K=8'
row "shardline matmul $product >/dev/full" "exit code 0, and the result was lost" \
  'standard output cannot be written: .*'
row "shardline --version >/dev/full" "exit code 0"
row "shardline train --help >&-" "exit code 0"
row "shardline book --section 3.2 >&-" "exit code 0, or the text went into the next file that was opened"
row "shardline explain $product --mesh X=4 --json - >/dev/full" "a file called \`-\` was written"
row "shardline explain $product --mesh X=4 --json /dev/full" "exit code 2, without the name of the option"
full="trap '' XFSZ; ulimit -f 0"  # no file may grow, as on a full disk
row "($full; shardline explain $product --mesh X=4 --json r.json) 2>&1 | cat" \
  "called a full disk a wrong argument, exit code 2" 'r.json: cannot be written: .*'
row "($full; shardline plan --model llama3-8b --chips 8 --json r.json --report r.html) 2>&1 | cat" \
  "the first file that could not be written ended the command before it printed anything" 'r.html: cannot be written: .*'
checked "nothing is left of the files" test ! -e r.json -a ! -e r.html
