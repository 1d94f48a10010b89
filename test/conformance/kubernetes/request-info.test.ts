/**
 * A request line is read as kube-apiserver reads it, or refused: request-info.tsv is what Kubernetes' own
 * code made of random ones.
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

function readingOf({ method, target }: Row): readonly string[] | StatusError {
  try {
    const info = readRequestInfo(method, target, { readsTenantFromPath: false });
    if (!info.isResourceRequest) return [info.verb, '', '', '', ''];
    return [info.verb, info.namespace, info.resource, info.subresource, info.name];
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

/** What may be refused: everything else must be read. */
const AMBIGUOUS = /%(?![0-9A-Fa-f]{2})|%ff|;|watch=[^&]*%(?:C5%BF|00)/;

t.test('every row is read alike, or refused because it could be read in two ways', async (t) => {
  t.ok(rows.length > 1_000, 'the table is there');
  for (const row of rows) {
    const reading = readingOf(row);
    if (reading instanceof StatusError) {
      t.equal(reading.code, 'RequestMalformed', row.target);
      t.match(row.target, AMBIGUOUS, 'only what is ambiguous is refused');
    } else t.same(reading, row.reading, `${row.method} ${row.target}`);
  }
});
