/**
 * A request line is parsed as by kube-apiserver, or refused: request-info.tsv has the results of Kubernetes'
 * own code for random ones.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';

interface Row {
  readonly method: string;
  readonly target: string;
  /** Verb, namespace, resource, subresource, name. */
  readonly reading: readonly string[];
}

const rows: Row[] = readFileSync(new URL('request-info.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [method = '', target = '', ...reading] = line.split('\t');
    return { method, target, reading };
  });

function readingOf({ method, target }: Row) {
  try {
    const info = readRequestInfo(method, target, { hasTenantsInPaths: false });
    if (!info.isResourceRequest) return [info.verb, '', '', '', ''];
    return [info.verb, info.namespace, info.resource, info.subresource, info.name];
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

/** Targets that may be refused; all others must be parsed. */
const AMBIGUOUS = /%(?![0-9A-Fa-f]{2})|%ff|;|watch=[^&]*%(?:C5%BF|00)/;

t.test('every row is parsed as by Kubernetes, or refused because it is ambiguous', async (t) => {
  t.ok(rows.length > 1_000, 'the table has rows');
  for (const row of rows) {
    const reading = readingOf(row);
    if (reading instanceof StatusError) {
      t.equal(reading.code, 'RequestMalformed', row.target);
      t.match(row.target, AMBIGUOUS, 'only an ambiguous target is refused');
    } else t.same(reading, row.reading, `${row.method} ${row.target}`);
  }
});
