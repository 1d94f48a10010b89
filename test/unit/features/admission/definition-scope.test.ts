import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createDefinitionScopeRule } from '../../../../src/features/admission/definition-scope.ts';
import type { BodyFormat } from '../../../../src/proxy/body-rule.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { inspectedRequest } from '../../../support/inspected.ts';
import { eachRow } from '../../../support/rows.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const plugin = createDefinitionScopeRule(mode);
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const asked = inspectedRequest({ path: CRDS });

/** @returns the code of the refusal, or `passes` */
async function verdict(format: string, content: unknown): Promise<string> {
  try {
    await plugin.admit({ format: FORMATS[format] ?? 'object', content }, asked);
    return 'passes';
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
}

const FORMATS: Readonly<Record<string, BodyFormat>> = {
  merge: 'merge-patch',
  strategic: 'strategic-merge-patch',
  json: 'json-patch',
};

t.test('a tenant defines only kinds of scope Tenant, in whichever form the definition is written', (t) =>
  eachRow(
    `
  passes                | object    | {"spec":{"group":"b.io","scope":"Tenant"}}
  ClusterScopeForbidden | object    | {"spec":{"group":"b.io","scope":"Cluster"}}
  ClusterScopeForbidden | object    | {"spec":{"group":"b.io"}}
  ClusterScopeForbidden | object    | {"spec":{"scope":["Tenant"]}}
  BodyMalformed         | object    | {"Spec":{"scope":"Tenant"}}
  BodyMalformed         | object    | {"spec":{"scope":"Tenant","Scope":"Cluster"}}
  BodyMalformed         | object    | {"spec":{"scope":"Tenant","ſcope":"Cluster"}}
  BodyMalformed         | object    | []
  passes                | merge     | {"metadata":{"labels":{"a":"b"}}}
  passes                | merge     | {"spec":{"scope":"Tenant"}}
  ClusterScopeForbidden | merge     | {"spec":{"scope":"Cluster"}}
  ClusterScopeForbidden | merge     | {"spec":{"scope":null}}
  ClusterScopeForbidden | merge     | {"spec":null}
  BodyMalformed         | merge     | {"sPec":{"scope":"Cluster"}}
  ClusterScopeForbidden | strategic | {"$patch":"replace","spec":{"scope":"Tenant"}}
  ClusterScopeForbidden | strategic | {"spec":{"$patch":"replace"}}
  ClusterScopeForbidden | strategic | {"spec":{"$retainKeys":["group"],"group":"b.io"}}
  passes                | strategic | {"spec":{"$setElementOrder/versions":[]}}
  passes                | json      | [{"op":"add","path":"/metadata/labels","value":{}}]
  passes                | json      | [{"op":"replace","path":"/spec/versions/0/served","value":false}]
  passes                | json      | [{"op":"test","path":"/spec/scope","value":"Namespaced"}]
  ClusterScopeForbidden | json      | [{"op":"replace","path":"/spec/scope","value":"Tenant"}]
  ClusterScopeForbidden | json      | [{"op":"replace","path":"/spec/scope/x","value":"Tenant"}]
  ClusterScopeForbidden | json      | [{"op":"replace","path":"/spec","value":{"scope":"Tenant"}}]
  ClusterScopeForbidden | json      | [{"op":"remove","path":"/spec/scope"}]
  ClusterScopeForbidden | json      | [{"op":"copy","from":"/metadata/labels/a","path":"/spec/scope"}]
  ClusterScopeForbidden | json      | [{"op":"move","from":"/spec","path":"/metadata/x"}]
  BodyMalformed         | json      | [{"op":"replace","path":"/Spec/scope","value":"Cluster"}]
  BodyMalformed         | json      | [{"op":"add","path":"x/spec/scope","value":"Cluster"}]
  BodyMalformed         | json      | [{"op":"add","path":"/spec/~2","value":"Cluster"}]
  passes                | json      | [{"op":"add","path":"/a~1spec~0scope","value":"Cluster"}]
  BodyMalformed         | json      | [{"op":"add","PATH":"/spec/scope","path":"/a","value":"Cluster"}]
  BodyMalformed         | json      | [{"op":"Replace","path":"/a","value":1}]
  BodyMalformed         | json      | {"op":"remove","path":"/a"}`,
    async (expected, format, body) =>
      t.equal(await verdict(format, JSON.parse(body)), expected, `${format} ${body}`),
  ),
);

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
