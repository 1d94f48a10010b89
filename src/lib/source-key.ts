/**
 * The key by which a source address is counted. An IPv4 address is one source; of an IPv6 address the first
 * 64 bits are, since a client with one address of a subnet has them all (RFC 4291 §2.5.4, RFC 6177). An IPv4
 * address written as IPv6 (RFC 4291 §2.5.5.2) counts as the IPv4 address.
 */
import ipaddr from 'ipaddr.js';

/** @param address of the client; any text that is no IPv6 address is its own key */
export function sourceKey(address: string): string {
  const [plain = ''] = address.split('%');
  if (!ipaddr.IPv6.isValid(plain)) return plain;
  const parsed = ipaddr.process(plain);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const prefix = parsed.parts.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}
