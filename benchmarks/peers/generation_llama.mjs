// llama.cpp for generation.sh, by the binaries of node-llama-cpp 3.21.1:
//
//   node generation_llama.mjs MODULES MODEL.gguf JOB.json RESULT.json
//
// MODULES is the folder node_modules. JOB has `threads`, `cache` (element type of keys and values: "f32" or "f16"), `flash` and
// `prompts`, lists of ids. `flash` is attention in blocks: "auto" or false; in blocks llama.cpp casts keys and values to f16,
// whatever the cache has. With `continuations`, a list of ids for each prompt, RESULT has `logprobs`: for each of them the log
// probability that the model gives it, after the prompt and those before it. With `all` it has those of all ids of the
// vocabulary. Otherwise `tokens` ids, the likeliest each time, are added to every prompt, all prompts together, and RESULT has
// `outputs`, `prefill`, `decode` and `busy_with_others` as the record of `shardline generate`. `runs` are timed, after one that
// is not.

import {readFile, writeFile} from "node:fs/promises";
import path from "node:path";
import {pathToFileURL} from "node:url";

const UBATCH = 512; // the tokens that llama.cpp works on at a time, by default

const [modules, modelFile, jobFile, resultFile] = process.argv.slice(2);
const job = JSON.parse(await readFile(jobFile, "utf8"));
const {getLlama} = await import(pathToFileURL(path.resolve(modules, "node-llama-cpp/dist/index.js")).href);
const llama = await getLlama({gpu: false, build: "never", progressLogs: false, logLevel: "error", maxThreads: 0});
const bindings = llama._bindings; // its own classes would queue and shift; these are llama.cpp's calls

const longest = Math.max(...job.prompts.map((prompt, i) => prompt.length + (job.continuations?.[i].length ?? job.tokens)));

async function openModel() {
    const model = new bindings.AddonModel(modelFile, {gpuLayers: 0, useMmap: true, addonExports: bindings});
    if (!await model.init()) throw new Error(`${modelFile}: llama.cpp does not load it`);
    return model;
}

async function openContext(model) {
    const type = bindings.getGgmlType(job.cache.toUpperCase());
    if (type === undefined) throw new Error(`cache ${job.cache}: llama.cpp has no such type`);
    const context = new bindings.AddonContext(model, {
        contextSize: longest * job.prompts.length, sequences: job.prompts.length, batchSize: UBATCH, threads: job.threads,
        flashAttention: job.flash, kvCacheKeyType: type, kvCacheValueType: type
    });
    if (!await context.init()) throw new Error("llama.cpp makes no context");
    return context;
}

/// Works on parts of sequences together, of at most UBATCH tokens in all. `wanted` are the places in a part after which logits
/// are wanted. Returns where these are, for each part.
async function decode(context, parts) {
    context.initBatch(parts.reduce((sum, part) => sum + part.ids.length, 0));
    const places = parts.map((part) => context.addToBatch(
        part.sequence, part.begin, Uint32Array.from(part.ids), Uint32Array.from(part.wanted)));
    await context.decodeBatch();
    return places;
}

function greedySampler(model) {
    const sampler = new bindings.AddonSampler(model);
    sampler.applyConfig({temperature: 0});
    return sampler;
}

/// Log probabilities by id, of the logits at a place.
async function logprobsAt(context, sampler, place) {
    const [, pairs] = await context.sampleToken(place, sampler, true, false);
    const logprobs = new Array(pairs.length / 2);
    for (let i = 0; i < pairs.length; i += 2) logprobs[pairs[i]] = Math.log(pairs[i + 1]);
    return logprobs;
}

async function score(model) {
    const context = await openContext(model);
    const sampler = greedySampler(model);
    const result = [];
    for (const [sequence, prompt] of job.prompts.entries()) {
        const ids = [...prompt, ...job.continuations[sequence]];
        const found = [];
        for (let begin = 0; begin < ids.length - 1; begin += UBATCH) {
            const part = ids.slice(begin, Math.min(begin + UBATCH, ids.length - 1));
            const wanted = [...part.keys()].filter((i) => begin + i >= prompt.length - 1);
            const [places] = await decode(context, [{sequence, begin, ids: part, wanted}]);
            for (const [i, place] of places.entries()) {
                const all = await logprobsAt(context, sampler, place);
                found.push(job.all ? all : all[ids[begin + wanted[i] + 1]]);
            }
        }
        result.push(found);
    }
    return {logprobs: result};
}

const seconds = () => Number(process.hrtime.bigint()) / 1e9;

/// One generation. Returns the times of the prompts and of each step, and the ids.
async function generate(model, sampler) {
    const context = await openContext(model);
    const outputs = job.prompts.map(() => []);
    const start = seconds();
    for (const [sequence, prompt] of job.prompts.entries()) {
        for (let begin = 0; begin < prompt.length; begin += UBATCH) {
            const ids = prompt.slice(begin, begin + UBATCH);
            const last = begin + ids.length === prompt.length;
            const [places] = await decode(context, [{sequence, begin, ids, wanted: last ? [ids.length - 1] : []}]);
            if (last) outputs[sequence].push(await context.sampleToken(places[0], sampler));
        }
    }
    const prefill = seconds() - start;
    const steps = [];
    for (let step = 1; step < job.tokens; ++step) {
        const begin = seconds();
        const places = await decode(context, job.prompts.map((prompt, sequence) => (
            {sequence, begin: prompt.length + step - 1, ids: [outputs[sequence][step - 1]], wanted: [0]})));
        for (const [sequence, [place]] of places.entries()) outputs[sequence].push(await context.sampleToken(place, sampler));
        steps.push(seconds() - begin);
    }
    await context.dispose();
    return {prefill, steps, outputs};
}

/// The numbers of the CPUs that this process may use, from text as "0-2,5".
async function ownCpus() {
    const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(await readFile("/proc/self/status", "utf8"));
    return new Set(list.split(",").flatMap((range) => {
        const [first, last = first] = range.split("-").map(Number);
        return Array.from({length: last - first + 1}, (_, i) => first + i);
    }));
}

/// Seconds of these CPUs since the start of the machine: idle, stolen and in all; and since its start of this process.
async function cpuTimes(cpus) {
    const tick = 0.01; // of Linux, for programs
    const times = {at: seconds(), own: (process.cpuUsage().user + process.cpuUsage().system) / 1e6, idle: 0, stolen: 0, all: 0};
    for (const line of (await readFile("/proc/stat", "utf8")).split("\n")) {
        const [name, ...counts] = line.split(/\s+/);
        if (!/^cpu\d+$/.test(name) || !cpus.has(Number(name.slice(3)))) continue;
        const spent = counts.slice(0, 8).map((count) => Number(count) * tick);
        times.idle += spent[3] + spent[4];
        times.stolen += spent[7];
        times.all += spent.reduce((sum, each) => sum + each, 0);
    }
    return times;
}

/// The share of the CPUs' time that other work took, as our records have it; null if Linux does not count it.
function shareOfOthers(before, after, count) {
    const passed = Object.fromEntries(Object.keys(before).map((key) => [key, Math.max(0, after[key] - before[key])]));
    const whole = passed.at * count;
    if (passed.at < 0.2 || passed.all < 0.5 * whole) return null;
    return Math.min(1, Math.max(0, whole - passed.idle - passed.own, passed.stolen) / whole);
}

/// Times in order as {min, median, max}.
function summary(times) {
    const ordered = [...times].sort((a, b) => a - b);
    const middle = (ordered.length - 1) / 2;
    return {min: ordered[0], median: (ordered[Math.floor(middle)] + ordered[Math.ceil(middle)]) / 2, max: ordered.at(-1)};
}

/// `tokens` are those of one of the times.
function phase(tokens, times) {
    const all = tokens * times.length;
    return {tokens: all, time_s: summary(times), tokens_per_s: all / times.reduce((sum, time) => sum + time, 0)};
}

async function measure(model) {
    const sampler = greedySampler(model);
    const cpus = await ownCpus();
    await generate(model, sampler); // the first reads the weights from the disk
    const before = await cpuTimes(cpus);
    const timed = [];
    for (let run = 0; run < job.runs; ++run) timed.push(await generate(model, sampler));
    const busy = shareOfOthers(before, await cpuTimes(cpus), cpus.size);
    return {
        busy_with_others: busy,
        outputs: timed[0].outputs.map((tokens) => ({tokens})),
        prefill: phase(job.prompts.reduce((sum, prompt) => sum + prompt.length, 0), timed.map((run) => run.prefill)),
        decode: phase(job.prompts.length, timed.flatMap((run) => run.steps))
    };
}

const model = await openModel();
const result = job.continuations ? await score(model) : await measure(model);
await writeFile(resultFile, JSON.stringify({system: llama.systemInfo, ...result}) + "\n");
process.exit(0); // its threads would keep the process alive
