/** What features declare names only what exists, and what they declare is served. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { withBackends } from '../../../src/app/backends.ts';
import { DEFINITIONS } from '../../../src/app/configuration.ts';
import { createProxy } from '../../../src/app/proxy.ts';
import { Generations } from '../../../src/config/generation.ts';
import { valuesAt } from '../../../src/kubernetes/right.ts';
import { fieldAt } from '../../../src/lib/json-object.ts';
import { commandRuntime } from '../../../src/lib/runtime.ts';
import { TENANCY_FACTS } from '../../../src/tenancy/facts.ts';
import {
  completeConfiguration,
  contentOf,
  secretOf,
  servingProcess,
} from '../../support/complete-configuration.ts';

const SCHEMA: unknown = JSON.parse(readFileSync('config/schema/stonegate.dev_v1alpha1.json', 'utf8'));
const FACTS = new Set([...Object.keys(TENANCY_FACTS.arktos), ...Object.keys(TENANCY_FACTS.shared)]);

/** The schemas of an object's field, of a list's items or of a mapping's values; alternatives count too. */
function below(schema: unknown, name: string): unknown[] {
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => fieldAt(schema, key) ?? []);
  const here =
    name === '*'
      ? [fieldAt(schema, 'items'), fieldAt(schema, 'additionalProperties')]
      : [fieldAt(schema, 'properties', name)];
  return [
    ...here.filter((found) => typeof found === 'object'),
    ...alternatives.flatMap((alternative) => below(alternative, name)),
  ];
}

/** Rights may name what is read in place of what is written. */
const READ = completeConfiguration('arktos');

function isPath(path: string): boolean {
  if (valuesAt(READ, path).length > 0) return true;
  let schemas: unknown[] = [SCHEMA];
  for (const name of path.split('.')) schemas = schemas.flatMap((schema) => below(schema, name));
  return schemas.length > 0;
}

function isCondition(condition: string): boolean {
  const name = condition.replace('!', '');
  return name === 'constrained' || FACTS.has(name) || isPath(name);
}

t.test('conditions, settings and paths that a feature names exist', async (t) => {
  for (const feature of DEFINITIONS) {
    const { rights = [], provisionerRights = [], admissionRights = [], storedKinds = [] } = feature;
    const { ownResources = [], ruleConfigMaps = [], restartFields = [] } = feature;
    const conditions = [
      ...[...rights, ...provisionerRights, ...admissionRights, ...storedKinds].flatMap(({ when }) => when),
      ...storedKinds.flatMap(({ modes = [] }) => modes),
    ];
    const paths = [
      ...storedKinds.map(({ section }) => section),
      ...ownResources.flatMap(({ needs }) => (needs ? [needs.setting] : [])),
      ...provisionerRights.flatMap((right) => [
        ...('namesAt' in right ? (right.namesAt ?? []) : []),
        ...('kindsAt' in right ? right.kindsAt : []),
      ]),
      ...ruleConfigMaps,
      ...restartFields,
    ];
    const unknown = [
      ...conditions.filter((condition) => !isCondition(condition)),
      ...paths.filter((path) => !isPath(path)),
    ];
    t.same(unknown, [], feature.name);
  }
});

t.test('with every section each resource that a feature declares is served', async (t) => {
  const runtime = commandRuntime();
  const generations = new Generations<readonly string[]>(runtime.logger);
  t.teardown(() => generations.close());
  const process = servingProcess(runtime, READ);
  generations.replace((generation) => {
    const secret = (source: object) => secretOf('fromFile' in source ? String(source.fromFile) : '');
    const loaded = {
      ...{ configuration: READ, references: [], file: contentOf, secret, digest: '', identityDigest: '' },
    };
    const build = withBackends({ loaded, runtime, generation });
    const { features } = createProxy(build, { ...process, controllers: process });
    return features.ownAPI.resources.map(({ name }) => name);
  });
  const declared = DEFINITIONS.flatMap(({ ownResources = [] }) => ownResources).map(({ name }) => name);
  t.same([...generations.current].sort(), declared.sort());
});

t.test('the configuration that has every section has each one', async (t) => {
  const sections = Object.keys(Object(fieldAt(SCHEMA, 'properties')));
  for (const mode of ['arktos', 'shared'] as const) {
    const complete = completeConfiguration(mode);
    t.same(
      sections.filter((name) => !(name in complete)),
      ['apiVersion', 'kind'],
      mode,
    );
  }
});
