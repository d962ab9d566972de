// Which states are alike: the classes that their colours and what follows do not split.

// The classes { of: [class of each row], count } of rows that show equal colours whatever is done; a table row holds the
// rows that follow. More than `most` classes end it early.
export function alike(table, colours, most = Infinity) {
  let classes = numbered(colours);
  // Each round splits a class or is the last.
  for (let count = 0; classes.count > count && classes.count <= most; ) {
    count = classes.count;
    classes = split(table, classes);
  }
  return classes;
}

// Rows of one class that a column leads to different classes part.
function split(table, classes) {
  return table[0].reduce((found, _, column) => {
    return numbered(table.map((row, i) => found.of[i] * classes.count + classes.of[row[column]]));
  }, classes);
}

// Equal keys by equal numbers, in the order in which they come.
export function numbered(keys) {
  const number = new Map();
  const of = keys.map((key) => {
    if (!number.has(key)) number.set(key, number.size);
    return number.get(key);
  });
  return { of, count: number.size };
}
