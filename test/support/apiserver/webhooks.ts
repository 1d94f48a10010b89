/**
 * Calls the registered validating webhooks after everything else has admitted a write, each URL as often as
 * the API server does. A registration with a selector other than one for labels, or with `matchConditions`,
 * is not supported and is an error of the test.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { randomUUID } from 'node:crypto';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Exchange } from './exchange.ts';
import { isObject, type JsonObject, objectAt, objectsAt, textAt, textsAt } from './json.ts';
import type { Kind } from './kinds.ts';
import { ApiError } from './statuses.ts';

/** Of an object without a namespace. */
const EVERY_LABEL: JsonObject = {};

type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

interface Write {
  readonly operation: Operation;
  readonly object?: JsonObject;
  readonly oldObject?: JsonObject;
}

/** @throws ApiError if a webhook refuses; 500 if it cannot be called and its failure policy is `Fail` */
export async function callWebhooks(exchange: Exchange, kind: Kind, write: Write) {
  const group = 'admissionregistration.k8s.io';
  const resource = 'validatingwebhookconfigurations';
  for (const { object } of exchange.cluster.store.list({ group, resource }))
    for (const webhook of objectsAt(object, 'webhooks')) {
      if (!objectsAt(webhook, 'rules').some((rule) => concerns(rule, exchange, kind, write.operation)))
        continue;
      if (Object.keys(objectAt(webhook, 'matchConditions')).length > 0)
        throw new Error('the stand-in does not support matchConditions');
      const objects = [write.object, write.oldObject];
      if (!objects.some((each) => isSelected(objectAt(webhook, 'objectSelector'), each))) continue;
      const namespaces = namespacesOf(exchange, kind, write);
      if (!namespaces.some((each) => isSelected(objectAt(webhook, 'namespaceSelector'), each))) continue;
      const { url, caBundle } = objectAt(webhook, 'clientConfig');
      if (exchange.cluster.flavour === 'arktos')
        await exchange.cluster.webhookRate.take(String(url), String(caBundle), exchange.user.username);
      await call(webhook, reviewOf(exchange, kind, write));
    }
}

function concerns(rule: JsonObject, { path }: Exchange, kind: Kind, operation: Operation) {
  const has = (field: string, value: string) =>
    textsAt(rule, field).some((each) => each === '*' || each === value);
  const resource = path.subresource === '' ? kind.resource : `${kind.resource}/${path.subresource}`;
  return (
    has('operations', operation) &&
    has('apiGroups', kind.group) &&
    has('apiVersions', path.version) &&
    has('resources', resource)
  );
}

/** The namespace of the object; of a namespace itself. A selector of namespaces selects all other objects. */
function namespacesOf(
  { cluster, path, tenant }: Exchange,
  kind: Kind,
  { object, oldObject }: Write,
): readonly (JsonObject | undefined)[] {
  if (kind.group === '' && kind.resource === 'namespaces')
    return [object, oldObject].map((each) => each && named(each));
  if (path.namespace === '') return [EVERY_LABEL];
  const found = cluster.store.list({ group: '', resource: 'namespaces', name: path.namespace, tenant });
  return found.map((each) => named(each.object));
}

/** With the label that every namespace has. */
function named(namespace: JsonObject): JsonObject {
  const metadata = objectAt(namespace, 'metadata');
  const name = textAt(metadata, 'name');
  const labels = { ...objectAt(metadata, 'labels'), 'kubernetes.io/metadata.name': name };
  return { ...namespace, metadata: { ...metadata, labels } };
}

function isSelected(selector: JsonObject, object: JsonObject | undefined) {
  if (object === EVERY_LABEL) return true;
  const expressions = objectsAt(selector, 'matchExpressions');
  const labels = objectAt(objectAt(object ?? {}, 'metadata'), 'labels');
  return expressions.every((each) => {
    const { [textAt(each, 'key')]: value } = labels;
    if (each.operator === 'Exists') return value !== undefined;
    if (each.operator === 'NotIn') return !textsAt(each, 'values').includes(String(value));
    throw new Error('the stand-in supports only the operators Exists and NotIn');
  });
}

function reviewOf(exchange: Exchange, kind: Kind, { operation, object, oldObject }: Write): JsonObject {
  const { path, tenant, user } = exchange;
  const { group, resource } = kind;
  const { version, namespace, subresource } = path;
  const ofTenant = (given: JsonObject | undefined): JsonObject | null =>
    given === undefined
      ? null
      : {
          ...given,
          kind: kind.kind,
          apiVersion: group === '' ? version : `${group}/${version}`,
          metadata: {
            ...objectAt(given, 'metadata'),
            ...(exchange.cluster.flavour === 'arktos' && kind.scope !== 'cluster' && { tenant }),
            ...(namespace !== '' && { namespace }),
          },
        };
  const reviewed = { group, version, kind: kind.kind };
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: randomUUID(),
      kind: reviewed,
      resource: { group, version, resource },
      requestKind: reviewed,
      requestResource: { group, version, resource },
      ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }),
      ...(operation !== 'CREATE' && { name: path.name }),
      ...(namespace !== '' && { namespace }),
      operation,
      userInfo: { username: user.username, groups: [...user.groups] },
      object: ofTenant(object),
      oldObject: ofTenant(oldObject),
      dryRun: path.query.has('dryRun'),
    },
  };
}

async function call(webhook: JsonObject, review: JsonObject) {
  const name = textAt(webhook, 'name');
  const client = objectAt(webhook, 'clientConfig');
  let verdict: JsonObject;
  try {
    verdict = await post(textAt(client, 'url'), textAt(client, 'caBundle'), review);
  } catch (error) {
    if (textAt(webhook, 'failurePolicy') === 'Ignore') return;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `failed calling webhook "${name}": Post "${textAt(client, 'url')}": ${reason}`;
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, {
      causes: [{ message }],
    });
  }
  if (verdict.allowed === true) return;
  const status = objectAt(verdict, 'status');
  const code = typeof status.code === 'number' ? status.code : 400;
  const because = textAt(status, 'message') === '' ? '' : `: ${textAt(status, 'message')}`;
  const message = `admission webhook "${name}" denied the request${because}`;
  throw new ApiError(code, textAt(status, 'reason') || undefined, message);
}

/** @returns the review's `response` */
async function post(url: string, caBundle: string, review: JsonObject): Promise<JsonObject> {
  const agent = new Agent({ ca: Buffer.from(caBundle, 'base64') });
  const head = { method: 'POST', agent, headers: { 'content-type': 'application/json' } };
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      httpsRequest(`${url}?timeout=5s`, head, (response) => text(response).then(resolve, reject))
        .on('error', reject)
        .end(JSON.stringify(review));
    });
    const parsed: unknown = JSON.parse(answer);
    if (!isObject(parsed)) throw new TypeError('its response is no object');
    return objectAt(parsed, 'response');
  } finally {
    agent.destroy();
  }
}
