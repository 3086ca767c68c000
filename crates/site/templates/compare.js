'use strict';
(() => {
  // Only textContent and attributes of fixed names are set: text of a run file stays text.
  const data = JSON.parse(document.getElementById('data').textContent);
  const form = document.getElementById('pick');
  const result = document.getElementById('result');
  const MOST = 20;
  const names = data.subjects.map(([name, of]) => name + ' (' + of + ')');
  const needles = names.map((name) => name.toLowerCase());
  const picked = { a: null, b: null };
  const SVG = 'http://www.w3.org/2000/svg';
  const count = (n) => Math.round(n).toLocaleString('en-US');
  const ms = (ns) => {
    const v = ns / 1e6;
    if (v === 0) return '0';
    if (0.0995 > v) return v.toFixed(3);
    if (0.995 > v) return v.toFixed(2);
    if (9.95 > v) return v.toFixed(1);
    return count(v);
  };
  const times = (v) => {
    if (!Number.isFinite(v)) return '-';
    if (1.995 > v) return v.toFixed(2) + '×';
    if (9.95 > v) return v.toFixed(1) + '×';
    return count(v) + '×';
  };
  const make = (name, words, kind) => {
    const e = document.createElement(name);
    if (words !== undefined) e.textContent = words;
    if (kind) e.className = kind;
    return e;
  };
  // From 0.01 ms to 10 s, six decades, as a percentage.
  const at = (ns) => Math.min(100, Math.max(0, (Math.log10(Math.max(ns, 1)) - 4) / 6 * 100)) + '%';
  const draw = (sides) => {
    const svg = document.createElementNS(SVG, 'svg');
    const part = (name, attributes) => {
      const e = document.createElementNS(SVG, name);
      Object.entries(attributes).forEach(([key, value]) => e.setAttribute(key, value));
      svg.append(e);
    };
    svg.setAttribute('height', 34);
    svg.setAttribute('aria-hidden', 'true');
    part('line', { class: 'f60', x1: at(16666667), x2: at(16666667), y1: 0, y2: 34 });
    sides.forEach((side, index) => {
      if (!side || side[5]) return;
      const [p50, , p99, p999] = side[2];
      const y = 10 + index * 14;
      const mark = index === 0 ? 'pa' : 'pb';
      if (p99 !== null && p999 !== null) part('line', { class: 'thin ' + mark, x1: at(p99), x2: at(p999), y1: y, y2: y });
      if (p50 !== null && p99 !== null) part('line', { class: 'thick ' + mark, x1: at(p50), x2: at(p99), y1: y, y2: y });
      if (p50 !== null) part('circle', { class: 'dot ' + mark, cx: at(p50), cy: y, r: 4 });
    });
    return svg;
  };
  const apart = (a, b) => {
    if (!a || !b || !a[4] || !b[4]) return '';
    if (b[4][0] > a[4][1]) return 'every run of B above every run of A';
    if (a[4][0] > b[4][1]) return 'every run of B below every run of A';
    return 'runs of A and B overlap';
  };
  const cell = (a, b, place) => {
    const td = make('td', undefined, 'n');
    const of = (side) => !side ? '-' : side[5] ? 'overloaded' : side[2][place] === null ? 'n too small' : ms(side[2][place]);
    td.append(make('span', of(a)), make('span', of(b)));
    const known = a && b && !a[5] && !b[5] && a[2][place] > 0 && b[2][place] !== null;
    td.append(make('b', known ? times(b[2][place] / a[2][place]) : '-'));
    return td;
  };
  const late = (a, b) => {
    const td = make('td', undefined, 'n');
    const of = (side) => !side || side[3] === null ? '-' : (side[3] * 100).toFixed(side[3] > 0.0995 || side[3] === 0 ? 0 : 1) + '%';
    td.append(make('span', of(a)), make('span', of(b)));
    return td;
  };
  const show = () => {
    result.replaceChildren();
    if (picked.a === null || picked.b === null) return;
    const sides = [picked.a, picked.b].map((at) => new Map(data.subjects[at][3].map((one) => [one[0], one])));
    const tests = data.tests.map((_, at) => at).filter((at) => sides[0].has(at) && sides[1].has(at));
    const head = make('p', undefined, 'lede');
    [['A', picked.a, 'ka'], ['B', picked.b, 'kb']].forEach(([letter, at, kind]) => {
      const line = make('span', undefined, 'side-of');
      line.append(make('b', letter, kind), ' ');
      const a = make('a', names[at]);
      a.href = 'device/' + data.subjects[at][2] + '.html';
      line.append(a);
      head.append(line);
    });
    result.append(head);
    if (tests.length === 0) {
      result.append(make('p', 'They have no test in common: the same operation, size, span and depth.'));
      return;
    }
    const table = make('table', undefined, 'versus');
    table.append(make('caption', 'Latencies in ms: A, B, and the ratio of B to A'));
    const top = make('tr');
    ['test', 'p50', 'p90', 'p99', 'p99.9', 'longest', 'late', 'picture', 'runs'].forEach((word, at) => {
      const th = make('th', word, at > 0 && 7 > at ? 'n' : '');
      th.scope = 'col';
      top.append(th);
    });
    const thead = make('thead');
    thead.append(top);
    const body = make('tbody');
    tests.forEach((test) => {
      const [a, b] = sides.map((side) => side.get(test));
      const tr = make('tr');
      const th = make('th', data.tests[test]);
      th.scope = 'row';
      tr.append(th);
      [0, 1, 2, 3, 4].forEach((place) => tr.append(cell(a, b, place)));
      tr.append(late(a, b));
      const picture = make('td', undefined, 'pic');
      picture.append(draw([a, b]));
      tr.append(picture, make('td', apart(a, b), 'why'));
      body.append(tr);
    });
    table.append(thead, body);
    const scroll = make('div', undefined, 'scroll');
    scroll.append(table);
    result.append(scroll);
  };
  const side = (letter) => {
    const input = document.getElementById(letter);
    const list = document.getElementById('list-' + letter);
    const pick = (at) => {
      picked[letter] = at;
      input.value = names[at];
      close();
      show();
      history.replaceState(null, '', '#a=' + (picked.a ?? '') + '&b=' + (picked.b ?? ''));
    };
    const close = () => { list.replaceChildren(); input.setAttribute('aria-expanded', 'false'); };
    const open = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      close();
      let found = 0;
      for (let at = 0; names.length > at && MOST > found; at += 1) {
        if (!words.every((word) => needles[at].includes(word))) continue;
        found += 1;
        const li = make('li', names[at]);
        li.setAttribute('role', 'option');
        li.tabIndex = -1;
        li.addEventListener('mousedown', (event) => { event.preventDefault(); pick(at); });
        li.addEventListener('keydown', (event) => {
          if (event.key === 'Enter') pick(at);
          if (event.key === 'ArrowDown' && li.nextSibling) { event.preventDefault(); li.nextSibling.focus(); }
          if (event.key === 'ArrowUp') { event.preventDefault(); (li.previousSibling || input).focus(); }
          if (event.key === 'Escape') { close(); input.focus(); }
        });
        list.append(li);
      }
      input.setAttribute('aria-expanded', found > 0 ? 'true' : 'false');
    };
    input.addEventListener('input', open);
    input.addEventListener('focus', () => { input.select(); open(); });
    input.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown' && list.firstChild) { event.preventDefault(); list.firstChild.focus(); }
      if (event.key === 'Enter') { event.preventDefault(); if (list.firstChild) list.firstChild.dispatchEvent(new Event('mousedown')); }
      if (event.key === 'Escape') close();
    });
    document.addEventListener('mousedown', (event) => {
      if (!input.parentElement.contains(event.target)) close();
    });
    return pick;
  };
  const picks = { a: side('a'), b: side('b') };
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
  const asked = new URLSearchParams(location.hash.slice(1));
  ['a', 'b'].forEach((letter, index) => {
    const wanted = asked.get(letter);
    const at = wanted ? Number(wanted) : Math.min(index, names.length - 1);
    if (Number.isInteger(at) && at >= 0 && names.length > at) picks[letter](at);
  });
})();
