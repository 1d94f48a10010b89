/**
 * The types of literals.
 */

import type { Type } from './types.ts';
import * as types from './types.ts';
import type { Value } from './values.ts';

export function typeOfLiteral(value: Value): Type {
  if (value === null) return types.NULL;
  switch (typeof value) {
    case 'boolean':
      return types.BOOL;
    case 'string':
      return types.STRING;
    case 'number':
      return types.DOUBLE;
    case 'bigint':
      return types.INT;
    default:
      return value instanceof Uint8Array ? types.BYTES : types.UINT;
  }
}
