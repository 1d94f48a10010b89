/**
 * Whose request it is, by address: the peer, unless the peer is a proxy the configuration trusts; then the
 * nearest address in X-Forwarded-For that is not itself trusted. What cannot be parsed is never believed, and
 * makes the peer the client. https://pkg.go.dev/k8s.io/apimachinery/pkg/util/net#SourceIPs
 */
import ipaddr from 'ipaddr.js';
import { type HeaderList, headerValues } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type TrustedProxies = readonly [Address, number][];

/** @throws Error where a CIDR is none; `check` has refused it before */
export function parseTrustedProxies(cidrs: readonly string[]): TrustedProxies {
  return cidrs.map((cidr) => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    return [address, bits];
  });
}

/**
 * @param peer the connection's other end; undefined where it is gone or has no address (a Unix socket)
 * @returns the client's address first, then the trusted proxies between it and us, nearest last; never empty
 */
export function clientAddresses(
  peer: string | undefined,
  headers: HeaderList,
  trusted: TrustedProxies,
): readonly [string, ...string[]] {
  const seen = peer === undefined ? undefined : read(peer);
  if (seen === undefined) return UNKNOWN;
  const { address: peerAddress, alone } = seen;
  if (!isTrusted(peerAddress, trusted)) return alone;
  const hops: [string, ...string[]] = [...alone];
  const forwarded = headerValues(headers, 'x-forwarded-for').flatMap((value) => value.split(','));
  for (const [at, text] of forwarded.reverse().entries()) {
    const hop = read(text.trim());
    if (hop === undefined) return alone;
    // A proxy that appends its own address has named the peer already; kube-apiserver lists it once, too.
    if (at === 0 && hop.alone[0] === alone[0]) continue;
    if (!isTrusted(hop.address, trusted)) return [...hop.alone, ...hops];
    hops.unshift(...hop.alone);
  }
  return alone;
}

const UNKNOWN: readonly [string] = ['unknown'];

interface Read {
  readonly address: Address;
  /** What a client of this address comes from, where nobody is between it and us. */
  readonly alone: readonly [string];
}

/** A connection's peer is the same at each of its requests. */
const read = memoize((text: string): Read | undefined => {
  const unscoped = text.split('%', 1)[0] ?? '';
  if (!ipaddr.isValid(unscoped)) return undefined;
  const address = ipaddr.process(unscoped);
  return { address, alone: [address.toString()] };
});

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  for (const [network, bits] of trusted)
    if (network.kind() === address.kind() && address.match(network, bits)) return true;
  return false;
}
