/**
 * Calls the `stonegate` command several times in one process, which loads its modules only once. The first
 * argument is a JSON list of the arguments of each call. It prints the list of the results.
 */
const { argv, stdout, stderr } = process;
const [node = '', , given = '[]'] = argv;
const calls: readonly (readonly string[])[] = JSON.parse(given);
const print = stdout.write.bind(stdout);
const results: object[] = [];
for (const [index, words] of calls.entries()) {
  const printed = { stdout: '', stderr: '' };
  for (const [name, stream] of Object.entries({ stdout, stderr })) {
    const write = (text: unknown) => {
      printed[name === 'stdout' ? 'stdout' : 'stderr'] += String(text);
      return true;
    };
    Object.assign(stream, { write });
  }
  argv.splice(0, argv.length, node, 'stonegate', ...words);
  // The query makes Node evaluate the module again.
  await import(`../../../src/main.ts?${index}`);
  results.push({ code: process.exitCode, signal: null, ...printed });
}
process.exitCode = 0;
print(JSON.stringify(results));
