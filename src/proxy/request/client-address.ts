/**
 * The client's address: the peer, or, if the peer is a trusted proxy of the configuration, the nearest
 * address in X-Forwarded-For that is not trusted itself. If the header cannot be parsed, the peer is the
 * client. https://pkg.go.dev/k8s.io/apimachinery/pkg/util/net#SourceIPs
 */
import ipaddr from 'ipaddr.js';
import { type HeaderList, headerValues } from '../../lib/header-list.ts';
import { memoize } from '../../lib/memoize.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type TrustedProxies = readonly [Address, number][];

/** @throws Error if a CIDR is invalid; the configuration's validation reports it first */
export function parseTrustedProxies(cidrs: readonly string[]): TrustedProxies {
  return cidrs.map((cidr) => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    return [address, bits];
  });
}

/**
 * @param peer the connection's other end; undefined if it is closed or has no address (a Unix socket)
 * @returns the client's address first, then the trusted proxies between it and Stonegate, nearest last; never
 *   empty
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

export function isTrustedProxy(peer: string | undefined, trusted: TrustedProxies): boolean {
  const seen = peer === undefined ? undefined : read(peer);
  return seen !== undefined && isTrusted(seen.address, trusted);
}

const UNKNOWN: readonly [string] = ['unknown'];

interface Read {
  readonly address: Address;
  /** The result if no trusted proxy is between the client of this address and Stonegate. */
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
