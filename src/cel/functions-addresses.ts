/**
 * Addresses, networks and URLs, as Kubernetes' libraries read them.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-ip-address-library
 */
import { isIPv4, isIPv6 } from 'node:net';
import { escapedPath, type GoURL, isEscaped, isRequestURI, parseGoURL, unescaped } from '../lib/go-url.ts';
import type { Declarations, Functions, Run } from './declarations.ts';
import { type Budget, EvaluationFault, noSuchOverload } from './errors.ts';
import { Dictionary, List, Opaque, type Value } from './values.ts';

export function declareAddresses(declarations: Declarations): void {
  declarations.add(ADDRESSES).add(NETWORKS).add(URLS);
}

class Address {
  readonly bytes: readonly number[];

  constructor(bytes: readonly number[]) {
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.length === 4 ? this.bytes.join('.') : shortened(groupsOf(this.bytes));
  }
}

class Network {
  readonly address: Address;
  readonly length: number;

  constructor(address: Address, length: number) {
    this.address = address;
    this.length = length;
  }
}

/** @returns undefined for what is none; neither a zone nor an IPv4 address within IPv6 is one */
function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return new Address(text.split('.').map(Number));
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const bytes = bytesOf(text);
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return mapped ? undefined : new Address(bytes);
}

/** @param text a valid IPv6 address */
function bytesOf(text: string): readonly number[] {
  const embedded = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const [, before = '', ...octets] = embedded ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = octets.map(Number);
  const whole =
    embedded === null ? text : `${before}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const [head = '', tail] = whole.split('::');
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<number>(zeros).fill(0), ...last].flatMap((group) => [group >> 8, group & 255]);
}

function groupsOf(bytes: readonly number[]): readonly number[] {
  return Array.from({ length: 8 }, (_, index) => (bytes[2 * index] ?? 0) * 256 + (bytes[2 * index + 1] ?? 0));
}

/** RFC 5952: the longest run of zeros, the first of those as long, is left out. */
function shortened(groups: readonly number[]): string {
  let best = { at: 0, length: 1 };
  let from = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== 0) from = index + 1;
    else if (index - from + 1 > best.length) best = { at: from, length: index - from + 1 };
  }
  const words = groups.map((group) => group.toString(16));
  if (best.length === 1) return words.join(':');
  return `${words.slice(0, best.at).join(':')}::${words.slice(best.at + best.length).join(':')}`;
}

function parseNetwork(text: string): Network | undefined {
  const slash = text.lastIndexOf('/');
  const length = text.slice(slash + 1);
  const address = slash < 0 ? undefined : parseAddress(text.slice(0, slash));
  if (address === undefined || !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  return Number(length) > address.bytes.length * 8 ? undefined : new Network(address, Number(length));
}

function masked({ address, length }: Network): Network {
  const bytes = address.bytes.map((byte, index) => {
    const bits = Math.min(Math.max(length - 8 * index, 0), 8);
    return byte & (255 << (8 - bits)) & 255;
  });
  return new Network(new Address(bytes), length);
}

function holds(network: Network, { bytes }: Address): boolean {
  if (bytes.length !== network.address.bytes.length) return false;
  const other = masked(new Network(new Address(bytes), network.length)).address.text;
  return other === masked(network).address.text;
}

const opaqueAddress = (address: Address) => new Opaque('net.IP', address.text, address);
const networkText = ({ address, length }: Network) => `${address.text}/${length}`;
const opaqueNetwork = (network: Network) => new Opaque('net.CIDR', networkText(network), network);

function addressOf(value: Value | undefined): Address {
  if (value instanceof Opaque && value.data instanceof Address) return value.data;
  throw noSuchOverload('a function of addresses');
}

function networkOf(value: Value | undefined): Network {
  if (value instanceof Opaque && value.data instanceof Network) return value.data;
  throw noSuchOverload('a function of networks');
}

/** @throws EvaluationFault for undefined */
function valid<T>(value: T | undefined): T {
  if (value === undefined) throw new EvaluationFault('parse error during conversion from string');
  return value;
}

function reading(run: (text: string) => Value): Run {
  return ([value], budget: Budget) => {
    budget.spendText(String(value).length);
    return run(String(value));
  };
}

function accessor(run: (value: Value | undefined, other: Value | undefined) => Value): Run {
  return ([value, other], budget) => {
    budget.spend(2);
    return run(value, other);
  };
}

const test = (run: (bytes: readonly number[]) => boolean) => accessor((value) => run(addressOf(value).bytes));
const isUnspecified = (bytes: readonly number[]) => bytes.every((byte) => byte === 0);
const isLoopback = (bytes: readonly number[]) =>
  bytes.length === 4 ? bytes[0] === 127 : new Address(bytes).text === '::1';
const isLinkLocalUnicast = (bytes: readonly number[]) =>
  bytes.length === 4
    ? bytes[0] === 169 && bytes[1] === 254
    : bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;
const isMulticast = (bytes: readonly number[]) =>
  bytes.length === 4 ? ((bytes[0] ?? 0) & 0xf0) === 0xe0 : bytes[0] === 0xff;
const isLinkLocalMulticast = (bytes: readonly number[]) =>
  bytes.length === 4
    ? bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0
    : bytes[0] === 0xff && ((bytes[1] ?? 0) & 0x0f) === 0x02;
const isGlobalUnicast = (bytes: readonly number[]) =>
  !isUnspecified(bytes) &&
  !isLoopback(bytes) &&
  !isMulticast(bytes) &&
  !isLinkLocalUnicast(bytes) &&
  !(bytes.length === 4 && bytes.every((byte) => byte === 255));

const ADDRESSES: Functions = {
  'ip(string): IP': reading((text) => opaqueAddress(valid(parseAddress(text)))),
  'isIP(string): bool': reading((text) => parseAddress(text) !== undefined),
  'ip.isCanonical(string): bool': reading((text) => valid(parseAddress(text)).text === text),
  'string(IP): string': accessor((value) => addressOf(value).text),
  'IP.family(): int': accessor((value) => (addressOf(value).bytes.length === 4 ? 4n : 6n)),
  'IP.isUnspecified(): bool': test(isUnspecified),
  'IP.isLoopback(): bool': test(isLoopback),
  'IP.isLinkLocalMulticast(): bool': test(isLinkLocalMulticast),
  'IP.isLinkLocalUnicast(): bool': test(isLinkLocalUnicast),
  'IP.isGlobalUnicast(): bool': test(isGlobalUnicast),
};

function containsNetwork(outer: Network, inner: Network): boolean {
  return outer.length <= inner.length && holds(outer, inner.address);
}

const NETWORKS: Functions = {
  'cidr(string): CIDR': reading((text) => opaqueNetwork(valid(parseNetwork(text)))),
  'isCIDR(string): bool': reading((text) => parseNetwork(text) !== undefined),
  'string(CIDR): string': accessor((value) => networkText(networkOf(value))),
  'CIDR.containsIP(string): bool': accessor((value, text) =>
    holds(networkOf(value), valid(parseAddress(String(text)))),
  ),
  'CIDR.containsIP(IP): bool': accessor((value, address) => holds(networkOf(value), addressOf(address))),
  'CIDR.containsCIDR(string): bool': accessor((value, text) =>
    containsNetwork(networkOf(value), valid(parseNetwork(String(text)))),
  ),
  'CIDR.containsCIDR(CIDR): bool': accessor((value, other) =>
    containsNetwork(networkOf(value), networkOf(other)),
  ),
  'CIDR.ip(): IP': accessor((value) => opaqueAddress(networkOf(value).address)),
  'CIDR.prefixLength(): int': accessor((value) => BigInt(networkOf(value).length)),
  'CIDR.masked(): CIDR': accessor((value) => opaqueNetwork(masked(networkOf(value)))),
};

function urlOf(value: Value | undefined): GoURL {
  const url = value instanceof Opaque && value.type === 'kubernetes.URL' ? parseGoURL(value.key) : undefined;
  if (url === undefined) throw noSuchOverload('a function of URLs');
  return url;
}

const part = (run: (url: GoURL) => Value) => accessor((value) => run(urlOf(value)));

/** @throws EvaluationFault for bytes that are not UTF-8: a text of ours cannot hold them */
function decoded(text: string): string {
  const result = unescaped(text);
  if (result === undefined) throw new EvaluationFault('a URL escapes what is not UTF-8');
  return result;
}

function hostOf({ host }: GoURL): string {
  return decoded(host);
}

/** The name and the port. */
function partsOf(url: GoURL): readonly [string, string] {
  const [, name = '', port = ''] = /^(.*?)(?::([0-9]*))?$/s.exec(hostOf(url)) ?? [];
  return [name.replace(/^\[(.*)\]$/s, '$1'), port];
}

/** As Go reads a query: what cannot be unescaped, or has a semicolon, is left out. */
function queryOf({ query }: GoURL): Dictionary {
  const found = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';') || !isEscaped(pair)) continue;
    const [, key = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair.replaceAll('+', ' ')) ?? [];
    found.set(decoded(key), [...(found.get(decoded(key)) ?? []), decoded(value)]);
  }
  return new Dictionary(
    [...found].map(([key, values]) => [key, new List(values, { ofGoStrings: true })] as const),
  );
}

const URLS: Functions = {
  'url(string): URL': reading((text) => {
    if (!isRequestURI(text) || parseGoURL(text) === undefined) throw new EvaluationFault('URL parse error');
    return new Opaque('kubernetes.URL', text, text);
  }),
  'isURL(string): bool': reading(isRequestURI),
  'URL.getScheme(): string': part(({ scheme }) => scheme),
  'URL.getHost(): string': part(hostOf),
  'URL.getHostname(): string': part((url) => partsOf(url)[0]),
  'URL.getPort(): string': part((url) => partsOf(url)[1]),
  'URL.getEscapedPath(): string': part(({ path }) => escapedPath(path)),
  'URL.getQuery(): map<string, list<string>>': part(queryOf),
};
