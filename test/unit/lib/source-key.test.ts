import t from 'tap';
import { sourceKey } from '../../../src/lib/source-key.ts';
import { eachRow } from '../../support/rows.ts';

await eachRow(
  `
  an IPv4 address is itself | 192.0.2.7 | 192.0.2.7
  an IPv4 address written as IPv6 is the IPv4 address | ::ffff:192.0.2.7 | 192.0.2.7
  an IPv6 address is its first 64 bits | 2001:db8:1:2:3:4:5:6 | 2001:db8:1:2::/64
  an IPv6 address in any spelling is its first 64 bits | 2001:DB8:0001:2:: | 2001:db8:1:2::/64
  the loopback address is its first 64 bits too | ::1 | 0:0:0:0::/64
  the name of an interface does not count | fe80::1%eth0 | fe80:0:0:0::/64
  text that is not an address is itself | unknown | unknown`,
  (why, address, key) => t.test(`${why}: ${address}`, async (t) => t.equal(sourceKey(address), key)),
);
