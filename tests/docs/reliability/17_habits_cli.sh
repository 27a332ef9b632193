# The first attempts of users who know other programs.
section "Habits of the command line"
run="bench all_gather --counts 8 --seconds 0.001"
row "shardline help bench" "\`there is no command 'help'\`" '^Usage: .*'
row "shardline help everything" "the same"
row "shardline $run --csv - 2>text" "a file called \`-\` was written" '^collective,.*algorithm'
row "shardline $run --json - 2>text | grep -c schema" "a file called \`-\` was written" '^1$'
row "shardline $run --csv - --json -" "both were written into one file called \`-\`"
