import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createDefinitionScopeRule } from '../../../../src/features/admission/definition-scope.ts';
import type { BodyFormat } from '../../../../src/proxy/body-rule.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { inspectedRequest } from '../../../support/inspected.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const plugin = createDefinitionScopeRule(mode);
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const asked = inspectedRequest({ path: CRDS });

/** @returns the code of the refusal, or `passes` */
async function verdict(format: BodyFormat, content: unknown): Promise<string> {
  try {
    await plugin.admit({ format, content }, asked);
    return 'passes';
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
}

const PASSES = 'passes';
const FORBIDDEN = 'ClusterScopeForbidden';
const MALFORMED = 'BodyMalformed';

const CASES = [
  ['object', '{"spec":{"group":"b.io","scope":"Tenant"}}', PASSES],
  ['object', '{"spec":{"group":"b.io","scope":"Cluster"}}', FORBIDDEN],
  ['object', '{"spec":{"group":"b.io"}}', FORBIDDEN],
  ['object', '{"spec":{"scope":["Tenant"]}}', FORBIDDEN],
  ['object', '{"Spec":{"scope":"Tenant"}}', MALFORMED],
  ['object', '{"spec":{"scope":"Tenant","Scope":"Cluster"}}', MALFORMED],
  ['object', '{"spec":{"scope":"Tenant","ſcope":"Cluster"}}', MALFORMED],
  ['object', '[]', MALFORMED],
  ['merge-patch', '{"metadata":{"labels":{"a":"b"}}}', PASSES],
  ['merge-patch', '{"spec":{"scope":"Tenant"}}', PASSES],
  ['merge-patch', '{"spec":{"scope":"Cluster"}}', FORBIDDEN],
  ['merge-patch', '{"spec":{"scope":null}}', FORBIDDEN],
  ['merge-patch', '{"spec":null}', FORBIDDEN],
  ['merge-patch', '{"sPec":{"scope":"Cluster"}}', MALFORMED],
  ['strategic-merge-patch', '{"$patch":"replace","spec":{"scope":"Tenant"}}', FORBIDDEN],
  ['strategic-merge-patch', '{"spec":{"$patch":"replace"}}', FORBIDDEN],
  ['strategic-merge-patch', '{"spec":{"$retainKeys":["group"],"group":"b.io"}}', FORBIDDEN],
  ['strategic-merge-patch', '{"spec":{"$setElementOrder/versions":[]}}', PASSES],
  ['json-patch', '[{"op":"add","path":"/metadata/labels","value":{}}]', PASSES],
  ['json-patch', '[{"op":"replace","path":"/spec/versions/0/served","value":false}]', PASSES],
  ['json-patch', '[{"op":"test","path":"/spec/scope","value":"Namespaced"}]', PASSES],
  ['json-patch', '[{"op":"replace","path":"/spec/scope","value":"Tenant"}]', FORBIDDEN],
  ['json-patch', '[{"op":"replace","path":"/spec/scope/x","value":"Tenant"}]', FORBIDDEN],
  ['json-patch', '[{"op":"replace","path":"/spec","value":{"scope":"Tenant"}}]', FORBIDDEN],
  ['json-patch', '[{"op":"remove","path":"/spec/scope"}]', FORBIDDEN],
  ['json-patch', '[{"op":"copy","from":"/metadata/labels/a","path":"/spec/scope"}]', FORBIDDEN],
  ['json-patch', '[{"op":"move","from":"/spec","path":"/metadata/x"}]', FORBIDDEN],
  ['json-patch', '[{"op":"replace","path":"/Spec/scope","value":"Cluster"}]', MALFORMED],
  ['json-patch', '[{"op":"add","path":"x/spec/scope","value":"Cluster"}]', MALFORMED],
  ['json-patch', '[{"op":"add","path":"/spec/~2","value":"Cluster"}]', MALFORMED],
  ['json-patch', '[{"op":"add","path":"/a~1spec~0scope","value":"Cluster"}]', PASSES],
  ['json-patch', '[{"op":"add","PATH":"/spec/scope","path":"/a","value":"Cluster"}]', MALFORMED],
  ['json-patch', '[{"op":"Replace","path":"/a","value":1}]', MALFORMED],
  ['json-patch', '{"op":"remove","path":"/a"}', MALFORMED],
] as const;

for (const [format, body, expected] of CASES)
  t.test(`${format} ${body}: ${expected}`, async (t) => {
    t.equal(await verdict(format, JSON.parse(body)), expected);
  });

t.test(
  'the rule applies to both versions, both forms of the path and the subresource, except in the system tenant',
  async (t) => {
    for (const path of [
      CRDS,
      `${CRDS}/a.b.io`,
      `${CRDS}/a.b.io/status`,
      CRDS.replace('/v1/', '/v1beta1/'),
      CRDS.replace('/v1/', '/v1/tenants/acme/'),
    ]) {
      t.ok(plugin.appliesTo(inspectedRequest({ path }).info, toTenantName('acme')), path);
      t.notOk(plugin.appliesTo(inspectedRequest({ path }).info, toTenantName('system')), path);
    }
    const deployment = inspectedRequest({ path: '/apis/apps/v1/namespaces/a/deployments/d' });
    t.notOk(plugin.appliesTo(deployment.info, toTenantName('acme')));
  },
);
