"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const controls = ["device", "filesystem", "barriers", "full", "months"];
  // A simulation that nobody waits for any more is given up when it has taken this long.
  const PATIENCE = 500;
  let module, worker, devices;
  let number = 0, running = null, wanted = null;

  const question = (wants) => JSON.stringify({
    device: at("device").value,
    filesystem: at("filesystem").value,
    barriers: at("barriers").checked,
    full: Number(at("full").value),
    months: Number(at("months").value),
    with_run: wants === "run",
    forecast: wants === "forecast",
  });

  const refuse = (words) => {
    at("refused").textContent = words;
    at("refused").hidden = false;
    at("sentence").textContent = "No figures for this choice.";
    at("more").textContent = "";
    at("believe").textContent = "";
    at("answer").hidden = true;
    at("state").textContent = "";
  };

  const show = (answer, took) => {
    at("refused").hidden = true;
    at("answer").hidden = false;
    at("sentence").textContent = answer.sentence;
    at("more").textContent = answer.more;
    at("believe").textContent = answer.believe;
    at("command").textContent = answer.command;
    // Drawn by the model, which escapes every text.
    at("drawing").innerHTML = answer.drawing;
    at("rows").replaceChildren(...answer.rows.map(({ name, now, new: before }) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = name;
      const cells = [now, before].map((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        return cell;
      });
      row.append(head, ...cells);
      return row;
    }));
    at("state").textContent = `Simulated in ${Math.round(took)} ms.`;
  };

  const keep = (run) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([run], { type: "application/json" }));
    link.download = `flashlag-${at("device").value}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const foresee = ({ command, forecast, error }) => {
    at("foreseen").hidden = false;
    at("forecast-command").textContent = command || "";
    at("forecast").textContent = forecast || error;
    at("state").textContent = "";
  };

  const send = () => {
    if (!devices || !wanted) return;
    if (running) {
      if (performance.now() - running.since < PATIENCE) return;
      start();
    }
    const asked = wanted;
    wanted = null;
    running = { number: ++number, since: performance.now(), wants: asked.wants };
    worker.postMessage({ number, question: asked.question });
    at("answer").classList.toggle("old", asked.wants !== "forecast");
    at("state").textContent = "Simulating…";
  };

  const received = ({ data }) => {
    if (data.number === undefined) {
      if (data.ended) refuse(`The model does not begin: ${data.ended}`);
      else if (!devices) offer(JSON.parse(data.reply));
      return;
    }
    if (!running || data.number !== running.number) return;
    const { wants } = running;
    running = null;
    if (data.ended) start();
    const answer = data.ended
      ? { error: `The model ended (${data.ended}): choose something else.` }
      : JSON.parse(data.reply);
    // An answer that is no longer wanted is shown too, while the slider moves: it was right a moment ago.
    if (wants === "forecast") foresee(answer);
    else if (answer.error) refuse(answer.error);
    else {
      show(answer, data.took);
      if (wants === "run") keep(answer.run);
    }
    if (!wanted) at("answer").classList.remove("old");
    document.body.dataset.answered = wanted ? "" : data.number;
    send();
  };

  const start = () => {
    if (worker) worker.terminate();
    running = null;
    const source = new Blob([at("worker").textContent], { type: "text/javascript" });
    const url = URL.createObjectURL(source);
    worker = new Worker(url);
    URL.revokeObjectURL(url);
    worker.onmessage = received;
    worker.postMessage(module);
  };

  const ask = (wants) => {
    document.body.dataset.answered = "";
    // A forecast of another choice.
    at("foreseen").hidden = true;
    at("full-said").textContent = `${at("full").value}%`;
    const months = Number(at("months").value);
    at("months-said").textContent = months === 0 ? "new" : months === 1 ? "1 month" : `${months} months`;
    wanted = { question: question(wants), wants };
    send();
    if (wanted) setTimeout(send, PATIENCE);
  };

  const option = (value, text) => new Option(text, value);

  const chosen = () => {
    const device = devices.find(({ name }) => name === at("device").value);
    at("about").textContent = device.about;
    at("filesystem").value = device.filesystem;
    at("barriers").checked = device.barriers;
  };

  const offer = (choices) => {
    devices = choices.devices;
    at("version").textContent = choices.version;
    at("device").replaceChildren(...devices.map(({ name }) => option(name, name)));
    at("filesystem").replaceChildren(...choices.filesystems.map((name) => option(name, name)));
    at("months").max = choices.oldest;
    at("device").value = "pixel-2016";
    chosen();
    ask();
  };

  const unpack = async () => {
    const packed = Uint8Array.from(atob(at("module").textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    start();
  };

  at("device").addEventListener("change", () => { chosen(); ask(); });
  for (const id of controls.slice(1)) at(id).addEventListener("input", () => ask());
  at("keep").addEventListener("click", () => ask("run"));
  at("foresee").addEventListener("click", () => ask("forecast"));
  at("copy").addEventListener("click", async () => {
    const text = at("command").textContent;
    try {
      await navigator.clipboard.writeText(text);
      at("state").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(at("command"));
      at("state").textContent = "Marked: copy it with your browser.";
    }
  });
  at("choices").addEventListener("submit", (event) => event.preventDefault());
  unpack().catch((error) => refuse(`The model can't be unpacked in this browser: ${error.message}`));
})();
