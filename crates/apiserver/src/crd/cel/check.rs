//! What can be said about a rule without running it: names of fields, types, and cost.
//!
//! The evaluator knows no types, so this walks the syntax tree beside the schema. It speaks up only
//! when it is sure: whatever the schema leaves open, and every function it has no opinion about,
//! yields [`Ty::Any`], which fits everything.
//!
//! The cost is that of the largest object the schema allows, as upstream estimates it. Because the
//! two estimates differ in detail, a rule is refused only when ours is a hundred times over the
//! limit, which is what loops within loops over unbounded lists come to.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/cel/openapi`, cel-go `checker`.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue, SelectExpr, operators};

use super::functions::{COST, COUNT, LOOP, Loop, PRODUCT};
use super::rewrite::Problem;
use super::unordered::{self, Shape};
use super::value::escape;
use crate::crd::formats::Format;
use crate::crd::structural::{Additional, JsonType, ListType, Node};

/// Largest request body, which bounds what the schema does not (bytes).
const REQUEST_BYTES_MAX: u64 = 3 << 20;

/// Items of a list about which nothing is known.
const UNKNOWN_SIZE: u64 = 1000;

/// The type of an expression, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty<'a> {
    /// Anything.
    Any,
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A whole number without sign.
    Uint,
    /// A number.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A value of this place in the schema.
    Node(&'a Node),
    /// A list of at most so many of these.
    List(Box<Ty<'a>>, u64),
    /// A value or none.
    Optional(Box<Ty<'a>>),
}

/// What a walk found.
pub(super) struct Findings<'a> {
    /// Type of the whole expression.
    pub(super) ty: Ty<'a>,
    /// Estimated cost for the largest object.
    pub(super) cost: u64,
    /// Mistakes, in the order found.
    pub(super) problems: Vec<Problem>,
    /// Comparisons and sums for which the order of some lists means nothing, by their ids.
    pub(super) unordered: Vec<(u64, Arc<Shape>)>,
}

/// Walks an expression in which `self` is a value of `node`.
pub(super) fn check<'a>(
    tree: &IdedExpr,
    node: &'a Node,
    is_root: bool,
    optional: bool,
) -> Findings<'a> {
    let this = Ty::Node(node);
    let old = if optional {
        Ty::Optional(Box::new(this.clone()))
    } else {
        this.clone()
    };
    let mut checker = Checker {
        root: node,
        is_root,
        scope: vec![("self".to_owned(), this), ("oldSelf".to_owned(), old)],
        problems: Vec::new(),
        unordered: Vec::new(),
    };
    let (ty, cost) = checker.infer(tree);
    Findings {
        ty: ty.simple(),
        cost,
        problems: checker.problems,
        unordered: checker.unordered,
    }
}

/// Least bytes of JSON a value of this type takes.
pub(super) fn bytes_min(node: &Node) -> u64 {
    let checks = node.checks.as_deref();
    match node.ty {
        Some(JsonType::String) => {
            2 + checks
                .and_then(|c| c.min_length)
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(0)
        }
        Some(JsonType::Boolean) => 4,
        Some(JsonType::Object) => {
            let required = checks.map_or(&[][..], |c| &c.required);
            let field = |name: &Arc<str>| {
                node.property(name)
                    .map_or(0, |p| name.len() as u64 + 4 + bytes_min(p))
            };
            2 + required.iter().map(field).sum::<u64>()
        }
        Some(JsonType::Array) => 2,
        Some(JsonType::Integer | JsonType::Number) | None => 1,
    }
}

/// Most items, entries or bytes a value of this type can have.
pub(super) fn size_max(node: &Node) -> u64 {
    let checks = node.checks.as_deref();
    let bound = |max: Option<i64>| max.and_then(|n| u64::try_from(n).ok());
    match node.ty {
        Some(JsonType::Array) => {
            let least = node.items.as_deref().map_or(1, bytes_min);
            bound(checks.and_then(|c| c.max_items)).unwrap_or(REQUEST_BYTES_MAX / (least + 1))
        }
        Some(JsonType::Object) => match &node.additional {
            Additional::Schema(values) => bound(checks.and_then(|c| c.max_properties))
                .unwrap_or(REQUEST_BYTES_MAX / (bytes_min(values) + 6)),
            _ => REQUEST_BYTES_MAX / 8,
        },
        Some(JsonType::String) => {
            let longest = bound(checks.and_then(|c| c.max_length));
            let values = checks.and_then(|c| c.values.as_ref());
            let of_enum = values.map(|v| {
                v.values()
                    .iter()
                    .filter_map(|v| v.as_str())
                    .map(str::len)
                    .max()
                    .unwrap_or(0) as u64
            });
            of_enum.or(longest).unwrap_or(REQUEST_BYTES_MAX)
        }
        _ => 1,
    }
}

struct Checker<'a> {
    root: &'a Node,
    is_root: bool,
    scope: Vec<(String, Ty<'a>)>,
    problems: Vec<Problem>,
    unordered: Vec<(u64, Arc<Shape>)>,
}

impl<'a> Ty<'a> {
    /// Scalars of the schema as the types they are.
    fn simple(&self) -> Self {
        let Ty::Node(node) = self else {
            return self.clone();
        };
        if node.int_or_string {
            return Ty::Any;
        }
        match node.ty {
            None => Ty::Any,
            Some(JsonType::Boolean) => Ty::Bool,
            Some(JsonType::Integer) => Ty::Int,
            Some(JsonType::Number) => Ty::Double,
            Some(JsonType::String) => match node.checks.as_ref().and_then(|c| c.format) {
                Some(Format::Byte) => Ty::Bytes,
                Some(Format::Date | Format::DateTime | Format::Duration) => Ty::Any,
                _ => Ty::String,
            },
            Some(JsonType::Array | JsonType::Object) => self.clone(),
        }
    }

    /// The name cel-go gives it, for scalars.
    fn name(&self) -> Option<&'static str> {
        Some(match self.simple() {
            Ty::Bool => "bool",
            Ty::Int => "int",
            Ty::Uint => "uint",
            Ty::Double => "double",
            Ty::String => "string",
            Ty::Bytes => "bytes",
            _ => return None,
        })
    }

    fn size_max(&self) -> u64 {
        match self {
            Ty::Node(node) => size_max(node),
            Ty::List(_, n) => *n,
            // Too low for some, but a rule must not be refused for what we do not know.
            Ty::Any => UNKNOWN_SIZE,
            Ty::Optional(inner) => inner.size_max(),
            _ => 1,
        }
    }

    fn is_unordered_list(&self) -> bool {
        matches!(self, Ty::Node(node)
            if node.ty == Some(JsonType::Array) && node.list != ListType::Atomic)
    }

    fn item(&self) -> Ty<'a> {
        match self {
            Ty::List(item, _) => (**item).clone(),
            Ty::Node(node) => match (&node.items, &node.additional) {
                (Some(items), _) => Ty::Node(items),
                (None, Additional::Schema(values)) => Ty::Node(values),
                _ => Ty::Any,
            },
            _ => Ty::Any,
        }
    }
}

impl<'a> Checker<'a> {
    fn infer(&mut self, tree: &IdedExpr) -> (Ty<'a>, u64) {
        match &tree.expr {
            Expr::Literal(value) => (literal(value), 0),
            Expr::Ident(name) => {
                let found = self.scope.iter().rfind(|(n, _)| n == name);
                (found.map_or(Ty::Any, |(_, ty)| ty.clone()), 1)
            }
            Expr::Select(select) => self.select(select),
            Expr::List(list) => {
                let mut cost = 10;
                let mut item = Ty::Any;
                for element in &list.elements {
                    let (ty, more) = self.infer(element);
                    item = ty;
                    cost = u64::saturating_add(cost, more);
                }
                (Ty::List(Box::new(item), list.elements.len() as u64), cost)
            }
            Expr::Comprehension(c) => {
                // What is left of comprehensions is `cel.bind`.
                let (ty, cost) = self.infer(&c.accu_init);
                self.scope.push((c.accu_var.clone(), ty));
                let (ty, more) = self.infer(&c.result);
                self.scope.pop();
                (ty, cost.saturating_add(more))
            }
            Expr::Call(call) => self.call(tree.id, call),
            Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => (Ty::Any, 30),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> (Ty<'a>, u64) {
        let (operand, cost) = self.infer(&select.operand);
        let ty = self.field(&operand, &select.field);
        (
            if select.test { Ty::Bool } else { ty },
            cost.saturating_add(1),
        )
    }

    fn field(&mut self, operand: &Ty<'a>, name: &str) -> Ty<'a> {
        if let Some(ty) = operand.name() {
            let text = format!("type '{ty}' does not support field selection");
            self.problems.push(Problem {
                text,
                name: format!(".{name}"),
            });
            return Ty::Any;
        }
        let Ty::Node(node) = operand else {
            return Ty::Any;
        };
        if node.ty != Some(JsonType::Object) {
            return Ty::Any;
        }
        let found = node
            .properties
            .iter()
            .find(|(n, _)| n.as_ref() == name || escape(n).is_some_and(|escaped| escaped == name));
        if let Some((_, property)) = found {
            return Ty::Node(property);
        }
        match &node.additional {
            Additional::Schema(values) => return Ty::Node(values),
            Additional::Any => return Ty::Any,
            Additional::Absent | Additional::Closed => {}
        }
        let is_resource = node.embedded || self.is_root && std::ptr::eq(*node, self.root);
        let is_meta = is_resource && matches!(name, "apiVersion" | "kind" | "metadata");
        if !node.preserve_unknown && !is_meta {
            let text = format!("undefined field '{name}'");
            self.problems.push(Problem {
                text,
                name: format!(".{name}"),
            });
        }
        Ty::Any
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> (Ty<'a>, u64) {
        if call.func_name == LOOP {
            return self.turns(&call.args);
        }
        let target = call.target.as_deref().filter(|t| !is_namespace(t));
        let mut cost = 1u64;
        let mut types = Vec::new();
        for part in target.into_iter().chain(&call.args) {
            let (ty, more) = self.infer(part);
            cost = cost.saturating_add(more);
            types.push(ty);
        }
        let first = types.first().cloned().unwrap_or(Ty::Any);
        let ty = match call.func_name.as_str() {
            // Metering does not change a value.
            COST | PRODUCT | COUNT => return (first, cost.saturating_sub(1)),
            operators::EQUALS | operators::NOT_EQUALS => {
                self.same(&call.func_name, &types, false);
                self.note_unordered(id, &first);
                cost = cost.saturating_add(lesser(&types) / 10);
                Ty::Bool
            }
            operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS => {
                self.same(&call.func_name, &types, true);
                Ty::Bool
            }
            operators::IN => {
                cost = cost.saturating_add(types.get(1).map_or(1, Ty::size_max));
                Ty::Bool
            }
            operators::CONDITIONAL => match types.as_slice() {
                [_, yes, no] if yes.simple() == no.simple() => yes.clone(),
                _ => Ty::Any,
            },
            operators::INDEX => first.item(),
            operators::OPT_INDEX => self.optional_index(call, &first),
            operators::ADD if first.is_unordered_list() => {
                self.note_unordered(id, &first);
                first
            }
            operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::NEGATE => match first.simple() {
                ty @ (Ty::Int | Ty::Uint | Ty::Double | Ty::String) => ty,
                _ => Ty::Any,
            },
            name => {
                if let Ty::Node(node) = &first
                    && node.ty == Some(JsonType::String)
                {
                    cost = cost.saturating_add(size_max(node) / 10);
                }
                function(name, first)
            }
        };
        (ty, cost)
    }

    fn optional_index(&mut self, call: &CallExpr, operand: &Ty<'a>) -> Ty<'a> {
        let operand = match operand {
            Ty::Optional(inner) => (**inner).clone(),
            other => other.clone(),
        };
        let name = match call.args.get(1).map(|a| &a.expr) {
            Some(Expr::Literal(LiteralValue::String(name))) => Some(name.inner().to_owned()),
            _ => None,
        };
        let inner = match (&operand, name) {
            (Ty::Node(node), Some(name)) if !node.properties.is_empty() => {
                self.field(&operand, &name)
            }
            _ => operand.item(),
        };
        Ty::Optional(Box::new(inner))
    }

    /// Notes a comparison or sum whose left side has lists in it whose order means nothing.
    fn note_unordered(&mut self, id: u64, left: &Ty<'a>) {
        if let Ty::Node(node) = left
            && let Some(shape) = unordered::shape(node)
        {
            self.unordered.push((id, shape));
        }
    }

    /// Reports operands that are surely of different types.
    fn same(&mut self, operator: &str, types: &[Ty<'a>], numbers_mix: bool) {
        let [left, right] = types else { return };
        let (Some(left), Some(right)) = (left.name(), right.name()) else {
            return;
        };
        let is_number = |name| matches!(name, "int" | "uint" | "double");
        if left == right || numbers_mix && is_number(left) && is_number(right) {
            return;
        }
        let text =
            format!("found no matching overload for '{operator}' applied to '({left}, {right})'");
        let sign = operator.trim_matches('_').to_owned();
        self.problems.push(Problem { text, name: sign });
    }

    fn turns(&mut self, args: &[IdedExpr]) -> (Ty<'a>, u64) {
        let [kind, _, range, names @ .., body, filter] = args else {
            return (Ty::Any, 1);
        };
        let (range, cost) = self.infer(range);
        let is_map = matches!(&range, Ty::Node(n) if n.ty == Some(JsonType::Object));
        let mark = self.scope.len();
        let both = names.len() > 1;
        for (at, name) in names.iter().enumerate() {
            let Expr::Ident(name) = &name.expr else {
                continue;
            };
            let ty = match (both, at, is_map) {
                (false, _, true) | (true, 0, true) => Ty::String,
                (true, 0, false) if range != Ty::Any => Ty::Int,
                (true, 0, false) => Ty::Any,
                _ => range.item(),
            };
            self.scope.push((name.clone(), ty));
        }
        let (ty, body) = self.infer(body);
        let (_, filter) = self.infer(filter);
        self.scope.truncate(mark);
        let turn = body.saturating_add(filter).saturating_add(1);
        let cost = cost.saturating_add(range.size_max().saturating_mul(turn));
        let collects = |k: Loop| {
            matches!(&kind.expr,
            Expr::Literal(LiteralValue::String(text)) if text.inner() == k.as_str())
        };
        let ty = match () {
            () if collects(Loop::Collect) => Ty::List(Box::new(ty), range.size_max()),
            () if collects(Loop::CollectMap) || collects(Loop::CollectEntries) => Ty::Any,
            () => Ty::Bool,
        };
        (ty, cost)
    }
}

/// Whether a target is only the beginning of a function's name.
fn is_namespace(target: &IdedExpr) -> bool {
    matches!(&target.expr, Expr::Ident(name) if matches!(name.as_str(),
        "optional" | "sets" | "lists" | "math" | "base64" | "ip" | "format" | "strings" | "jsonpatch"))
}

fn literal(value: &LiteralValue) -> Ty<'static> {
    match value {
        LiteralValue::Boolean(_) => Ty::Bool,
        LiteralValue::Int(_) => Ty::Int,
        LiteralValue::UInt(_) => Ty::Uint,
        LiteralValue::Double(_) => Ty::Double,
        // The name of a type, see the rewriting.
        LiteralValue::String(text) if text.inner().starts_with("@type:") => Ty::Any,
        LiteralValue::String(_) => Ty::String,
        LiteralValue::Bytes(_) => Ty::Bytes,
        LiteralValue::Null => Ty::Any,
    }
}

/// The smaller of two sizes, which an equality looks at.
fn lesser(types: &[Ty<'_>]) -> u64 {
    types.iter().map(Ty::size_max).min().unwrap_or(1)
}

/// What a function returns, given what it is called on.
fn function<'a>(name: &str, target: Ty<'a>) -> Ty<'a> {
    match name {
        operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | "startsWith"
        | "endsWith"
        | "matches"
        | "hasValue"
        | "isIP"
        | "isCIDR"
        | "isURL"
        | "isQuantity"
        | "isSemver"
        | "isSorted" => Ty::Bool,
        "size" | "int" | "indexOf" | "lastIndexOf" => Ty::Int,
        "uint" => Ty::Uint,
        "double" => Ty::Double,
        "string" | "lowerAscii" | "upperAscii" | "trim" | "substring" | "join" | "format"
        | "charAt" => Ty::String,
        "value" | "orValue" => match target {
            Ty::Optional(inner) => *inner,
            _ => Ty::Any,
        },
        _ => Ty::Any,
    }
}
