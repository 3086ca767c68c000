"use strict";
// Answers one question at a time. The first message is the compiled module.
let ready;
const ask = (model, text) => {
  const question = new TextEncoder().encode(text);
  const at = model.question(question.length);
  new Uint8Array(model.memory.buffer, at, question.length).set(question);
  const length = model.ask();
  return new TextDecoder().decode(new Uint8Array(model.memory.buffer, model.answer(), length));
};
onmessage = async ({ data }) => {
  const begins = data instanceof WebAssembly.Module;
  if (begins) ready = WebAssembly.instantiate(data, {});
  try {
    const model = (await ready).exports;
    const begun = performance.now();
    const reply = ask(model, begins ? "" : data.question);
    postMessage({ number: data.number, reply, took: performance.now() - begun });
  } catch (error) {
    postMessage({ number: data.number, ended: error.message });
  }
};
