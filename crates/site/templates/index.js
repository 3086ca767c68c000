'use strict';
(() => {
  // Only textContent and attributes of fixed names are set: text of a run file stays text.
  const rows = JSON.parse(document.getElementById('data').textContent);
  const form = document.getElementById('controls');
  const table = document.getElementById('table');
  const body = table.tBodies[0];
  const pages = document.getElementById('pages');
  const SHOWN = 200;
  const VERDICTS = ['smooth', 'hitches', 'lags', 'freezes', 'overloaded'];
  const count = (n) => Math.round(n).toLocaleString('en-US');
  const fill = (row) => (row[7] === 'unknown' ? 'fill unknown' : row[7]) + (row[8] === 'new' ? '' : ' (' + row[8] + ')');
  // Of each column: its text, and what it is sorted by.
  const text = (at) => [(row) => row[at], (row) => String(row[at]).toLowerCase()];
  const COLUMNS = [
    text(1), text(2), [(row) => row[4], (row) => row[3]], text(5), text(6), [fill, fill],
    [(row) => count(row[9]), (row) => row[9]],
    [(row) => row[10] === null ? 'no verdict' : VERDICTS[row[10]], (row) => row[10]],
    ...[0, 1, 2, 3, 4, 5].map((at) => [(row) => row[11][at][0], (row) => row[11][at][1]]),
  ];
  const NUMBERS = [2, 6, 8, 9, 10, 11, 12, 13];
  const FACETS = { kind: 2, filesystem: 5, age: 6, fill: 7, state: 8 };
  let order = { column: null, down: false };
  let limit = SHOWN;

  const needles = rows.map((row) => [1, 2, 4, 5, 6, 7, 8].map((at) => row[at]).join(' ').toLowerCase());
  const chosen = () => {
    const words = form.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const facets = Object.entries(FACETS).filter(([name]) => form[name].value !== '');
    const found = [];
    rows.forEach((row, at) => {
      if (words.every((word) => needles[at].includes(word)) &&
          facets.every(([name, place]) => String(row[place]) === form[name].value)) found.push(row);
    });
    if (order.column === null) return found;
    const key = COLUMNS[order.column][1];
    const sign = order.down ? -1 : 1;
    // What is not known comes last in either direction.
    return found.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return x === y ? 0 : x > y ? sign : -sign;
    });
  };
  const cell = (row, at) => {
    const td = document.createElement(at === 0 ? 'th' : 'td');
    const value = COLUMNS[at][0](row);
    if (at === 0) {
      td.scope = 'row';
      const a = document.createElement('a');
      a.href = 'device/' + row[0] + '.html';
      const name = document.createElement('bdi');
      name.textContent = value;
      a.append(name);
      td.append(a);
      return td;
    }
    td.textContent = value;
    const classes = [];
    if (at >= 1 && 5 >= at) classes.push('s');
    if (NUMBERS.includes(at)) classes.push('n');
    if (at >= 8 && row[11][at - 8][2]) classes.push('t');
    if (at === 6) classes.push('x');
    if (at === 7) classes.push('vd', 'v-' + (row[10] === null ? 'none' : VERDICTS[row[10]]));
    td.className = classes.join(' ');
    return td;
  };
  const show = () => {
    const found = chosen();
    const part = document.createDocumentFragment();
    found.slice(0, limit).forEach((row) => {
      const tr = document.createElement('tr');
      COLUMNS.forEach((_, at) => tr.append(cell(row, at)));
      part.append(tr);
    });
    body.replaceChildren(part);
    more(found.length);
  };
  const more = (found) => {
    document.getElementById('count').textContent =
      found === rows.length ? count(found) + ' rows' : count(found) + ' of ' + count(rows.length) + ' rows';
    pages.replaceChildren();
    if (found > limit) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = 'Show ' + count(Math.min(found - limit, 5 * SHOWN)) + ' more';
      button.addEventListener('click', () => { limit += 5 * SHOWN; show(); });
      pages.append(button);
    }
  };
  const again = () => { limit = SHOWN; show(); };

  const heads = [...table.tHead.rows[0].cells];
  const narrow = form.sort;
  const sortBy = (at, down) => {
    order = { column: at, down };
    heads.forEach((th, place) => {
      if (place === at) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    });
    again();
  };
  heads.forEach((th, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    narrow.append(new Option(th.textContent, String(at)));
    button.append(...th.childNodes);
    button.addEventListener('click', () => sortBy(at, order.column === at && !order.down));
    th.replaceChildren(button);
  });
  narrow.value = '7';
  narrow.addEventListener('change', () => sortBy(Number(narrow.value), false));
  Object.entries(FACETS).forEach(([name, place]) => {
    const values = [...new Set(rows.map((row) => String(row[place])))].sort();
    values.forEach((value) => form[name].append(new Option(value, value)));
    form[name].addEventListener('change', again);
  });
  form.search.addEventListener('input', again);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
  more(rows.length);
})();
