/** A request as a body admission receives it, with an API server that responds as the test says. */
import type { InspectedRequest, UserResponse } from '../../src/proxy/body-rule.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
}

export interface InspectedOptions {
  readonly method?: string;
  /** The tenant's full path. */
  readonly path: string;
  readonly username?: string;
  /** By default `acme`. */
  readonly tenant?: string;
  readonly answer?: (asked: Asked) => UserResponse;
}

export function inspectedRequest(options: InspectedOptions): InspectedRequest & { readonly asked: Asked[] } {
  const { method = 'POST', path, username = 'acme:mia', tenant = 'acme' } = options;
  const info = readRequestInfo(method, path, { hasTenantsInPaths: true });
  if (!info.isResourceRequest) throw new TypeError(`${path} is no resource's`);
  const asked: Asked[] = [];
  return {
    method,
    info,
    path,
    user: { username, uid: '', groups: ['system:authenticated'], extra: {} },
    tenant: toTenantName(tenant),
    account: { kind: 'tenant', tenant: toTenantName(tenant) },
    sender: { kind: 'stonegate' },
    signal: new AbortController().signal,
    asked,
    async readStored() {
      const question = { method: 'GET', path };
      asked.push(question);
      return options.answer?.(question) ?? { status: 404, content: {} };
    },
  };
}
