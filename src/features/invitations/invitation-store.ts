/**
 * A stored invitation says until when it may be accepted, and by whom. This process knows
 * all invitations from an informer, for lists; an acceptance is decided on the stored object itself.
 */
import { timingSafeEqual } from 'node:crypto';
import { StatusError } from '../../errors/status-error.ts';
import { ownerKey } from '../../identity/owners.ts';
import { digestOfSecret, idOfSecret } from '../../identity/secret-token.ts';
import { ObjectStore, type StorableObject, storableObjects } from '../../kubernetes/informer-store.ts';
import type { ReceivedObject } from '../../kubernetes/list-watch.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { parseTimestamp, timestamp } from '../../lib/go-time.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import { identitySchema, type QualifiedIdentity } from '../../tenancy/identity.ts';
import type { OwnedObjects } from '../owner-upkeep.ts';
import { ownershipOf, type TenantOwned } from '../tenant-uids.ts';
import {
  type ShownInvitation,
  type StoredInvitationSpec,
  storedInvitationSchema,
  type Target,
  targetOf,
} from './invitation-v1alpha1.ts';

/** All times are in milliseconds since the epoch. */
export interface Invitation
  extends TenantOwned,
    Pick<StoredInvitationSpec, 'tenant' | 'inviter' | 'email' | 'digest'> {
  readonly id: string;
  readonly uid: string;
  readonly identity: QualifiedIdentity;
  readonly ownerKey: string;
  readonly signedInAt: number;
  readonly invitedAt: number;
  readonly target: Target;
  readonly expiresAt: number;
  readonly ended: StoredInvitationSpec['ended'];
}

/** @returns undefined for an object that is no invitation */
export function readInvitation(value: unknown): Invitation | undefined {
  const { name, uid } = metadataOf(value);
  const { data } = storedInvitationSchema.safeParse(value);
  if (data === undefined || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  const { spec, status } = data;
  const { tenant, inviter, email, digest, ended } = spec;
  const identity = parseJSON(status?.signIn?.identity ?? spec.identity, identitySchema);
  const expiresAt = parseTimestamp(spec.expires);
  const target = targetOf(spec);
  if (identity === undefined || expiresAt === undefined || target === undefined) return undefined;
  const invitedAt = parseTimestamp(spec.invited) ?? 0;
  const signedInAt = parseTimestamp(status?.signIn?.at ?? spec.invited) ?? 0;
  return {
    ...{ id: name, uid, tenant, inviter, digest, target, identity, expiresAt, invitedAt, signedInAt, ended },
    ...(email !== undefined && { email }),
    ...ownershipOf(value),
    ownerKey: ownerKey(identity, tenant),
  };
}

/** When it ended, and in which state it is; undefined while it may be accepted. */
export function endOf(
  { ended, expiresAt }: Pick<Invitation, 'ended' | 'expiresAt'>,
  now: number,
):
  | {
      readonly state: 'accepted' | 'withdrawn' | 'refused' | 'expired';
      readonly reason: string;
      readonly at: number;
    }
  | undefined {
  if (ended !== undefined) return { ...ended, at: parseTimestamp(ended.at) ?? expiresAt };
  return now < expiresAt ? undefined : { state: 'expired', reason: 'its time is over', at: expiresAt };
}

/** @param link what the inviter sends; shown once */
export function shownInvitation(invitation: Invitation, now: number, link?: string): ShownInvitation {
  const { id, uid, target, email, inviter, invitedAt, expiresAt } = invitation;
  const end = endOf(invitation, now);
  return {
    metadata: { name: id, uid, creationTimestamp: timestamp(invitedAt) },
    spec: { ...target, ...(email !== undefined && { email }) },
    status: {
      ...(link !== undefined && { link }),
      state: end?.state ?? 'open',
      ...(end && { reason: end.reason }),
      inviter,
      expirationTimestamp: timestamp(expiresAt),
    },
  };
}

interface Asked {
  readonly secret: string;
  readonly tenant: string;
  readonly verifiedEmail: string | undefined;
}

/** Whether who asks may accept the invitation, whatever its inviter may. */
export function isFor(
  invitation: Invitation,
  { secret, tenant, verifiedEmail }: Asked,
  now: number,
): boolean {
  const given = Buffer.from(digestOfSecret(secret));
  const stored = Buffer.from(invitation.digest);
  if (given.length !== stored.length || !timingSafeEqual(given, stored)) return false;
  if (invitation.tenant !== tenant || endOf(invitation, now) !== undefined) return false;
  return invitation.email === undefined || isSameAddress(invitation.email, verifiedEmail);
}

/** The open invitation with this secret. No backend is asked: any client may ask for it. */
export function heldInvitation(
  secret: string,
  { get }: Pick<InvitationStore, 'get'>,
  now: number,
): Invitation | undefined {
  const id = idOfSecret('sgi_', secret);
  const found = id && get(id);
  if (!found) return undefined;
  const { tenant, email: verifiedEmail } = found;
  return isFor(found, { secret, tenant, verifiedEmail }, now) ? found : undefined;
}

/** Whether the inviter cannot give it, rather than that no backend can be asked now. */
export function isRefusal(error: unknown): error is StatusError {
  return error instanceof StatusError && error.http < 500 && error.http !== 409 && error.http !== 429;
}

export function refusalOf({ message, cause, code }: StatusError): string {
  const why = code === 'CredentialInvalid' && typeof cause === 'string' ? cause : message;
  return `it could not be granted: ${why}`;
}

/** The message says nothing of the invitation, nor of whom it is for. */
export function noInvitation(): StatusError {
  return new StatusError(
    'NotFound',
    'there is no such invitation for you: it was used or withdrawn, has expired, is for another user, or never was',
  );
}

/** Only the domain of an address is the same in any case: RFC 5321 §2.4. */
function isSameAddress(one: string, other: string | undefined): boolean {
  return other !== undefined && normalized(one) === normalized(other);
}

function normalized(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at)}${address.slice(at).toLowerCase()}`;
}

/** Each tenant has these bounds of its own: one that exceeds them takes no room from others. */
const BOUNDS = { objects: 10_000, bytes: 64 * 1024 * 1024 };

export interface InvitationStore extends OwnedObjects<Invitation> {
  readonly filled: ObjectStore<Invitation>;
  readonly ofTenant: (tenant: string) => readonly Invitation[];
  /** Called whenever the informer has received something. */
  readonly onUpdate: () => void;
}

/** @param onLeftOut called for a tenant that has too many: its lists are empty */
export function createInvitationStore(onLeftOut: (tenant: string) => void): InvitationStore {
  const filled = new ObjectStore<Invitation>({ bounds: BOUNDS, onLeftOut });
  const values = () => filled.values();
  // Each new credential is looked up as an inviter, and links are opened by anyone.
  let index: ReturnType<typeof indexOf> | undefined;
  const indexed = () => {
    index ??= indexOf(values());
    return index;
  };
  return {
    filled,
    values,
    onUpdate() {
      index = undefined;
    },
    get: (id) => indexed().byID.get(id),
    ofOwner: (key) => indexed().byOwner.get(key) ?? [],
    ofTenant: (tenant) => filled.valuesOf(tenant),
  };
}

function indexOf(invitations: readonly Invitation[]) {
  return {
    byID: new Map(invitations.map((one) => [one.id, one])),
    byOwner: Map.groupBy(invitations, (one) => one.ownerKey),
  };
}

/** An informer's object, under the tenant that the invitation is of. @throws MalformedObject */
export function storableInvitation(object: ReceivedObject): StorableObject<Invitation> {
  const storable = storableObjects(readInvitation)(object);
  return { ...storable, tenant: storable.value?.tenant ?? '' };
}
