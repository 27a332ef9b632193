// Writes variants of a tokenizer.json that together use every setting Shardline implements, for the comparison with Hugging
// Face's library.
//
//   node variants.mjs TOKENIZER.json FOLDER

import fs from 'node:fs';
import path from 'node:path';

const [tokenizerFile, folder] = process.argv.slice(2);
const original = fs.readFileSync(tokenizerFile, 'utf8');

const byteLevel = (prefix, regex) => ({ type: 'ByteLevel', add_prefix_space: prefix, trim_offsets: true, use_regex: regex });
const split = (pattern, behavior, invert = false) => ({ type: 'Split', pattern, behavior, invert });
const sequence = (...pretokenizers) => ({ type: 'Sequence', pretokenizers });
const digits = (individual) => ({ type: 'Digits', individual_digits: individual });
const regex = (text) => ({ Regex: text });

// The pattern of cl100k, with possessive repeats.
const cl100k =
  "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s";

function addTokens(file, tokens) {
  let id = Math.max(...file.added_tokens.map((token) => token.id));
  for (const token of tokens) {
    file.added_tokens.push({ id: file.model.vocab[token.content] ?? ++id, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...token });
  }
}

const variants = {
  gpt2: (file) => { file.normalizer = null; file.pre_tokenizer = byteLevel(false, true); },
  prefix: (file) => { file.pre_tokenizer = sequence(digits(false), byteLevel(true, true)); },
  smollm: (file) => { file.pre_tokenizer = sequence(digits(true), byteLevel(false, true)); },
  deepseek: (file) => {
    file.pre_tokenizer = sequence(split(regex('[\\r\\n]'), 'Isolated'), split(regex('\\s?\\p{L}+'), 'Isolated'),
      split(regex('\\s?\\p{P}+'), 'Isolated'), split(regex('[一-龥ࠀ-一가-퟿]+'), 'Isolated'), digits(true), byteLevel(false, false));
  },
  cl100k: (file) => { file.pre_tokenizer = sequence(split(regex(cl100k), 'Removed', true), byteLevel(false, false)); },
  literal: (file) => { file.pre_tokenizer = sequence(split({ String: ' ' }, 'MergedWithNext'), byteLevel(true, false)); },
  previous: (file) => { file.pre_tokenizer = sequence(split(regex('\\p{Han}|[\\n,.]'), 'MergedWithPrevious'), byteLevel(false, true)); },
  contiguous: (file) => { file.pre_tokenizer = sequence(split(regex('\\p{Lu}|\\d'), 'Contiguous', true), byteLevel(false, false)); },
  next: (file) => { file.pre_tokenizer = sequence(split(regex('\\s+|^a|\\v'), 'MergedWithNext', true), byteLevel(false, false)); },
  removed: (file) => { file.pre_tokenizer = sequence(split(regex('[aeiou]*'), 'Removed'), byteLevel(false, false)); },
  added: (file) => {
    addTokens(file, [{ content: '<l>', lstrip: true }, { content: '<r>', rstrip: true }, { content: '<lr>', lstrip: true, rstrip: true },
      { content: 'the', single_word: true }, { content: 'é', normalized: true }, { content: 'cafe\u0301', normalized: true },
      { content: '한', normalized: true, single_word: true }, { content: '\u1112\u1161' }, { content: '  x', single_word: true, lstrip: true }]);
  },
  merges: (file) => {
    file.model.ignore_merges = !file.model.ignore_merges;
    file.model.merges = file.model.merges.map((merge) => (Array.isArray(merge) ? merge.join(' ') : merge.split(' ')));
    const [first, last] = file.added_tokens;
    const special = ({ id, content }) => [content, { id: content, ids: [id], tokens: [content] }];
    const piece = ({ content }) => ({ SpecialToken: { id: content, type_id: 0 } });
    file.post_processor = {
      type: 'Sequence',
      processors: [byteLevel(false, true), {
        type: 'TemplateProcessing', single: [piece(first), { Sequence: { id: 'A', type_id: 0 } }, piece(last), piece(first)],
        pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
        special_tokens: Object.fromEntries([special(first), special(last)]),
      }],
    };
  },
};

for (const [name, change] of Object.entries(variants)) {
  const file = JSON.parse(original);
  change(file);
  fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(file));
}
