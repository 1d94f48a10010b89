/**
 * The record of a request that observers are shown, as the stages fill it in.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { HeaderList } from '../lib/header-list.ts';
import type { StreamEndReason } from '../lib/telemetry.ts';
import type { Outcome, RequestRecord } from './ports.ts';
import type { Received } from './request-state.ts';

/** With room for all that is to come: an object that grows is slow to make. */
export class ServedRecord implements RequestRecord {
  readonly auditID: string;
  readonly receivedAt: number;
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly headers: HeaderList;
  readonly sourceIPs: readonly string[];
  info?: RequestInfo;
  identity?: Identity;
  tenant?: TenantName;
  user?: UserInfo;
  actsAs?: UserInfo;
  impersonated?: boolean;
  outcome?: Outcome;
  ended?: StreamEndReason;
  /** The audit log's: see `audit/audit-event.ts`. */
  auditText?: string;

  /** What is known of it so far. */
  constructor({ exchange, auditID, receivedAt, sourceIPs }: Received) {
    this.auditID = auditID;
    this.receivedAt = receivedAt;
    this.method = exchange.method;
    this.target = exchange.target;
    this.httpVersion = exchange.httpVersion;
    this.headers = exchange.headers;
    this.sourceIPs = sourceIPs;
  }
}
