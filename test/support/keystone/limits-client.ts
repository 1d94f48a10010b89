/**
 * A Keystone client with given responses about limits, by path. By default there is the service `kubernetes`
 * with the id `s1`, the model is flat, and there are no limits.
 */
import { parse } from 'yaml';
import type { KeystoneClient } from '../../../src/identity/keystone/keystone.ts';
import type { JSONObject } from '../../../src/lib/json-object.ts';
import type { KeystoneToken } from '../../../src/tenancy/keystone-v3.ts';

const NOTHING: Readonly<Record<string, JSONObject>> = parse(`
  /services: {services: [{id: s1, name: kubernetes}, {id: s2}]}
  /limits/model: {model: {name: flat}}
  /registered_limits?service_id=s1: {registered_limits: []}
  /limits?service_id=s1: {limits: []}`);

/** @param answers responses by path; any other path gets a 404 */
export function limitsClient(
  answers: Readonly<Record<string, JSONObject>>,
  scope: KeystoneToken['scope'] = { kind: 'system' },
): Pick<KeystoneClient, 'ownToken' | 'service'> {
  const all = { ...NOTHING, ...answers };
  const token: KeystoneToken = {
    user: { id: 'u-bridge', name: 'bridge', domain: { id: 'default', name: 'Default' } },
    scope,
    roles: [],
    federatedGroups: [],
    methods: ['password'],
    auditIDs: ['a'],
    issuedAt: 0,
    expiresAt: 1,
  };
  return {
    ownToken: async () => token,
    service: {
      async get({ path }) {
        const body = all[path];
        return body && { status: 200, body, token: undefined, date: undefined };
      },
    },
  };
}
