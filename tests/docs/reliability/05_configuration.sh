section "Configurations of models"
sizes='"vocab_size": 256, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 8'
config() { printf '{"model_type": "%s", %s%s}\n' "$1" "$sizes" "${2:+, $2}" >"$3"; }
train="shardline train --steps 1 --model"
plan="shardline plan --chips 8 --model"

config llama '"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}' partial.json
row "$train partial.json" "silently rotated all of each head, which is other mathematics"
config llama '"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}' nested.json
row "$train nested.json" "the same"
config llama '"rope_scaling": {"type": "yarn", "factor": 4.0}' yarn.json
row "$train yarn.json" "named \`factor\`, not the type"
config qwen2 '"num_key_value_heads": 2, "use_sliding_window": true' switch.json
row "$plan switch.json" "did not say that it leaves out a window" 'switch.json: not counted.*'
config llama '"text_config": {"hidden_size": 128}' text.json
row "$train text.json" "silently left out the inner object"
config mistral '"sliding_window": 4096, "use_sliding_window": false' window.json
row "$train window.json" "trained without a window, because of a key that \`mistral\` does not have"
config llama '"hidden_size": 128' twice.json
row "$train twice.json" "used the last of the two"
config qwen3 '"num_key_value_heads": 8' qwen3.json
row "$plan qwen3.json" "used heads 8 wide, as in \`llama\`" 'model .*'
row "$plan qwen3.json" "did not say what it does not count"
row "$train qwen3.json" "gave no reason"
config qwen3 '"num_key_value_heads": null, "head_dim": null' null.json
row "$plan null.json" "treated both keys as missing"
printf '{%s}\n' "$sizes" >untyped.json
row "$train untyped.json" "assumed \`llama\`"
printf '{"model_type": "llama", "hidden_size": 512}\n' >short.json
row "$plan short.json" "\`vocab_size is missing\`, although the type has a default"
config llama '"embedding_scale": 8.0' unknown.json
row "$train unknown.json" "silently left out the key"
config llama '"norm_type": "layernorm"' norm.json
row "$train norm.json" "the same"
config llama '"num_hidden_layers": 2147483647' deep.json
sed -i 's/"num_hidden_layers": 2, //' deep.json
row "$train deep.json" "ended with \`std::bad_alloc\`, before the memory check"
