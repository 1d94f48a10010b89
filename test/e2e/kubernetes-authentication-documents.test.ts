/**
 * A real kube-apiserver accepts every AuthenticationConfiguration, and every issuer in Stonegate's own form,
 * that the documents and samples show.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parseAllDocuments, stringify } from 'yaml';
import { isJSONObject, type JSONObject } from '../../src/lib/json-object.ts';
import { startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

/** The YAML of a file: all of it, or the fenced blocks of a Markdown page. */
function yamlIn(name: string, text: string) {
  if (!name.endsWith('.md')) return [text];
  return [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].flatMap(([, block]) => block ?? []);
}

function member(value: unknown, ...names: readonly string[]): unknown {
  const [name, ...rest] = names;
  if (name === undefined) return value;
  return isJSONObject(value) ? member(value[name], ...rest) : undefined;
}

function listAt(value: unknown, ...names: readonly string[]) {
  const found = member(value, ...names);
  return Array.isArray(found) ? found.filter(isJSONObject) : [];
}

/** The issuer in the form of kube-apiserver, without Stonegate's own fields. */
function asKubernetes({
  issuer,
  claimMappings,
  claimValidationRules,
  userValidationRules,
}: JSONObject): JSONObject {
  const { caFile: _file, ...rest } = isJSONObject(issuer) ? issuer : {};
  const mappings = isJSONObject(claimMappings) ? claimMappings : {};
  const extra = listAt(mappings, 'extra').filter((each) => !('claim' in each));
  return {
    issuer: { audienceMatchPolicy: 'MatchAny', ...rest },
    claimMappings: { ...mappings, extra },
    ...(claimValidationRules === undefined ? {} : { claimValidationRules }),
    ...(userValidationRules === undefined ? {} : { userValidationRules }),
  };
}

function issuersIn(document: unknown): readonly JSONObject[] {
  const mapping = member(document, 'groups', 'expression');
  if (typeof mapping === 'string') return [byGroups(mapping)];
  const own = listAt(document, 'authentication', 'jwt').filter((each) => isJSONObject(each.claimMappings));
  return [...listAt(document, 'jwt'), ...own].map(asKubernetes);
}

function byGroups(expression: string) {
  return {
    issuer: { url: 'https://login.example.com', audiences: ['k'] },
    claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { expression } },
  };
}

async function shown(folder: string) {
  const names = (await readdir(join(ROOT, folder), { recursive: true })).filter((name) =>
    /\.(?:md|yaml)$/.test(name),
  );
  const texts = await Promise.all(names.map((name) => readFile(join(ROOT, folder, name), 'utf8')));
  return texts
    .flatMap((text, index) => yamlIn(names[index] ?? '', text))
    .flatMap((text) => parseAllDocuments(text))
    .flatMap((document) =>
      'errors' in document && document.errors.length === 0 ? issuersIn(document.toJS()) : [],
    );
}

t.test(
  'a real kube-apiserver accepts the issuers in documents and samples',
  { skip: missingKubernetes() },
  async (t) => {
    const issuers = [...(await shown('docs')), ...(await shown('config'))];
    t.ok(issuers.length >= 3, `${issuers.length} issuers`);
    const jwt = issuers.map((entry, index) => ({
      ...entry,
      issuer: { ...(isJSONObject(entry.issuer) ? entry.issuer : {}), url: `https://issuer-${index}.example` },
    }));
    const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
    const kubernetes = await startKubernetes(t, {
      files: { 'authentication.yaml': stringify({ ...kind, jwt }) },
      flags: (path) => [`--authentication-config=${path('authentication.yaml')}`],
    });
    t.equal((await kubernetes.ask(kubernetes.admin, '/readyz')).status, 200);
  },
);
