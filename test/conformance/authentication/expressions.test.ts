/**
 * CEL expressions and AuthenticationConfigurations have the same result as in kube-apiserver 1.36.3; its
 * results were recorded with k8s.io/apiserver's own packages.
 */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { stringify } from 'yaml';
import { parseStonegate } from '../../../src/app/configuration.ts';
import { compileClaimsExpression, ExpressionError } from '../../../src/cel/cel.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { isJSONObject, type JSONObject } from '../../../src/lib/json-object.ts';

async function recorded(name: string): Promise<readonly JSONObject[]> {
  const text = await readFile(new URL(name, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
    .filter(isJSONObject);
}

const [claims = {}] = await recorded('claims.jsonl');

/** The result of an expression as the value of an extra. */
function outcomeOf(source: string) {
  let stage = 'does not compile';
  try {
    const expression = compileClaimsExpression(source);
    stage = 'refused';
    const result = expression.evaluate(claims);
    if (result === undefined || typeof result === 'boolean') return { outcome: stage };
    if (result === null) return { values: [] };
    if (typeof result === 'object' && result.ofGo) return { outcome: stage };
    const values = typeof result === 'string' ? [result] : result.strings;
    return { values: values.filter((value) => value !== '') };
  } catch (error) {
    if (error instanceof ExpressionError) return { outcome: stage };
    throw error;
  }
}

t.test('an expression has the same result as in kube-apiserver', async (t) => {
  for (const { expression, ...expected } of await recorded('expressions.jsonl'))
    t.same(outcomeOf(String(expression)), expected, String(expression));
});

/** Adds a tenant for each issuer, which Stonegate requires in addition to the file. */
function problemsOf(text: string) {
  const urls = [...text.matchAll(/url: "?([^"\n,}]+)/g)].flatMap(([, url]) => url?.trim() ?? []);
  const configuration = {
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls: { certFile: 'c', keyFile: 'k' } },
    upstream: { server: 'https://u', credential: { tokenFile: 't' } },
    tenancy: { mode: 'shared' },
    authentication: {
      configurationFile: 'auth.yaml',
      tokenReview: { tenant: 'robots' },
      tenants: Object.fromEntries(urls.map((url) => [url, { value: 'acme' }])),
    },
  };
  return parseStonegate(stringify(configuration), '/', () => Buffer.from(text))
    .problems.map(formatProblem)
    .filter((problem) => !problem.startsWith('authentication.tenants'));
}

t.test('a file is accepted if kube-apiserver accepts it, and refused if not', async (t) => {
  for (const { name, accepted, text } of await recorded('files.jsonl')) {
    const problems = problemsOf(String(text));
    t.equal(problems.length === 0, accepted, String(name), { problems });
  }
});
