/**
 * The mutations of a source file: each is a small change of a decision that some test should notice.
 */
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';

export interface Mutation {
  /** The range of the text that is replaced, in UTF-16 code units. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

const OPERATORS: ReadonlyMap<SyntaxKind, string> = new Map([
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
  [SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [SyntaxKind.AmpersandAmpersandToken, '||'],
  [SyntaxKind.BarBarToken, '&&'],
  [SyntaxKind.PlusToken, '-'],
  [SyntaxKind.MinusToken, '+'],
]);

const METHODS: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
]);

export function mutationsOf(source: SourceFile): readonly Mutation[] {
  const found: Mutation[] = [];
  const replace = (node: Node, by: string): void => {
    const from = node.getStart(source);
    if (source.text.slice(from, node.end) !== by) found.push({ from, to: node.end, by });
  };
  const visit = (node: Node): void => {
    if (is.isTypeNode(node) || is.isTypeAliasDeclaration(node) || is.isInterfaceDeclaration(node)) return;
    if (is.isImportDeclaration(node) || is.isExportDeclaration(node)) return;
    mutate(node, source, replace);
    node.forEachChild(visit);
  };
  source.forEachChild(visit);
  return found;
}

function mutate(node: Node, source: SourceFile, replace: (node: Node, by: string) => void): void {
  const text = (part: Node): string => source.text.slice(part.getStart(source), part.end);
  const condition = is.isIfStatement(node)
    ? node.expression
    : is.isConditionalExpression(node)
      ? node.condition
      : undefined;
  if (condition) for (const value of ['true', 'false']) replace(condition, value);
  if (is.isBinaryExpression(node)) {
    const operator = node.operatorToken;
    const by = OPERATORS.get(operator.kind);
    const joinsText = operator.kind === SyntaxKind.PlusToken && /['"`]/.test(text(node));
    if (by !== undefined && !joinsText) replace(operator, by);
    if (operator.kind === SyntaxKind.QuestionQuestionToken) replace(node, `(${text(node.right)})`);
  }
  if (node.kind === SyntaxKind.TrueKeyword) replace(node, 'false');
  if (node.kind === SyntaxKind.FalseKeyword) replace(node, 'true');
  if (is.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken)
    replace(node, `(${text(node.operand)})`);
  if (is.isPropertyAccessExpression(node)) {
    const by = METHODS.get(text(node.name));
    if (by !== undefined) replace(node.name, by);
  }
  if (is.isArrayLiteralExpression(node))
    for (const element of node.elements) if (is.isStringLiteral(element)) replace(element, "''");
  if (is.isReturnStatement(node) && node.expression && mayBeUndefined(node, text))
    replace(node.expression, 'undefined');
  if (is.isExpressionStatement(node)) {
    const call = is.isAwaitExpression(node.expression) ? node.expression.expression : node.expression;
    if (is.isCallExpression(call) && call.expression.kind !== SyntaxKind.SuperKeyword) replace(node, ';');
  }
}

/** Other returns of undefined do not compile. */
function mayBeUndefined(node: Node, text: (part: Node) => string): boolean {
  for (let outer: Node | undefined = node.parent; outer; outer = outer.parent) {
    if (is.isFunctionDeclaration(outer) || is.isMethodDeclaration(outer) || is.isArrowFunction(outer))
      return outer.type !== undefined && /\bundefined\b/.test(text(outer.type));
  }
  return false;
}
