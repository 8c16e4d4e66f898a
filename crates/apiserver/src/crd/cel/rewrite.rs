//! Changes to a parsed expression before it is evaluated.
//!
//! - Loops become calls of [`super::functions::LOOP`], which pays for each turn, collects without
//!   copying and absorbs errors as CEL wants. Every function call pays for the size of what it
//!   takes and returns; functions that can be quadratic pay in advance.
//! - Macros the parser does not know are expanded: `cel.bind`, `all`, `exists`, `existsOne`,
//!   `transformList`, `transformMap`, `transformMapEntry` with two variables, `sortBy`, `optMap`,
//!   `optFlatMap`.
//! - `x.?y` becomes `x[?"y"]`, because the evaluator's own version fails on a missing field.
//! - `type(x)` and the names of types become comparable values.
//! - Names that mean nothing are found, so a misspelt variable is an error when the CRD is created.

use std::collections::BTreeSet;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, SelectExpr, operators,
};

use super::functions::{COST, COUNT, LOOP, Loop, PRODUCT, SORT_BY, TYPE, TYPE_NAMES, type_text};

/// A mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What is wrong.
    pub(super) text: String,
    /// The name at fault, to find the place by.
    pub(super) name: String,
}

/// One pass over an expression.
pub(super) struct Rewriter<'a> {
    /// Variables of the expression and of the loops around.
    scope: Vec<String>,
    n_free: usize,
    is_known: &'a dyn Fn(&str) -> bool,
    /// Free variables that were read.
    pub(super) used: BTreeSet<String>,
    /// Mistakes, in the order found.
    pub(super) problems: Vec<Problem>,
}

/// How deep the syntax tree of a text can become: brackets around each other, and operators in a
/// row. The parser recurses that deep, so this is known before it runs. Never too small.
pub(super) fn nesting(source: &str) -> usize {
    // For every open bracket: operators in a row, and `&&` or `||` so far.
    let mut levels = vec![(0usize, 0usize)];
    let mut depth = 0;
    let mut deepest = 0;
    let bytes = source.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_inner = levels.len() > 1;
        let level = levels.last_mut().expect("the outermost level stays");
        let before = level.0 + level.1;
        let mut opens = false;
        match bytes[at] {
            b'"' | b'\'' => {
                at = after_literal(bytes, at);
                continue;
            }
            b'(' | b'[' | b'{' => {
                level.0 += 1;
                opens = true;
            }
            b')' | b']' | b'}' if is_inner => {
                depth -= before;
                levels.pop();
                at += 1;
                continue;
            }
            b',' => *level = (0, 0),
            b'&' | b'|' => {
                *level = (0, level.1 + 1);
                at += 1;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b'?' | b'!' | b'<' | b'>' | b'=' => {
                level.0 += 1;
            }
            // The operator `in`.
            b'i' if bytes[at..].starts_with(b"in ") => level.0 += 1,
            _ => {}
        }
        depth = depth + level.0 + level.1 - before;
        deepest = deepest.max(depth);
        if opens {
            levels.push((0, 0));
        }
        at += 1;
    }
    deepest
}

/// The offset behind the string literal that begins with the quote at `at`.
fn after_literal(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let is_raw = at > 0 && matches!(bytes[at - 1], b'r' | b'R')
        || at > 1 && matches!(bytes[at - 1], b'b' | b'B') && matches!(bytes[at - 2], b'r' | b'R');
    let triple = [quote; 3];
    let end: &[u8] = if bytes[at..].starts_with(&triple) {
        &triple
    } else {
        &triple[..1]
    };
    let mut at = at + end.len();
    while at < bytes.len() {
        if bytes[at] == b'\\' && !is_raw {
            at += 2;
        } else if bytes[at..].starts_with(end) {
            return at + end.len();
        } else {
            at += 1;
        }
    }
    at
}

/// Depth of a syntax tree; walks it with a stack of its own, because it may be too deep for ours.
pub(super) fn depth(tree: &IdedExpr) -> usize {
    let mut deepest = 0;
    let mut todo = vec![(tree, 1usize)];
    while let Some((expr, depth)) = todo.pop() {
        deepest = deepest.max(depth);
        each_child(expr, &mut |child| todo.push((child, depth + 1)));
    }
    deepest
}

/// Nodes evaluated once per evaluation: all but the insides of loops, which pay per turn.
pub(super) fn weight(tree: &IdedExpr) -> u64 {
    let mut n = 1;
    match &tree.expr {
        Expr::Call(call) if call.func_name == LOOP => return n + weight(&call.args[2]),
        _ => each_child(tree, &mut |child| n += weight(child)),
    }
    n
}

fn each_child<'e>(tree: &'e IdedExpr, visit: &mut dyn FnMut(&'e IdedExpr)) {
    match &tree.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            call.target
                .as_deref()
                .into_iter()
                .chain(&call.args)
                .for_each(visit);
        }
        Expr::Comprehension(c) => {
            [
                &c.iter_range,
                &c.accu_init,
                &c.loop_cond,
                &c.loop_step,
                &c.result,
            ]
            .into_iter()
            .for_each(visit);
        }
        Expr::List(list) => list.elements.iter().for_each(visit),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    visit(&entry.key);
                    visit(&entry.value);
                }
            }
        }
        Expr::Select(select) => visit(&select.operand),
        Expr::Struct(s) => {
            for entry in &s.entries {
                if let EntryExpr::StructField(entry) = &entry.expr {
                    visit(&entry.value);
                }
            }
        }
    }
}

/// As [`each_child`], to change them.
pub(super) fn each_child_mut(tree: &mut IdedExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    match &mut tree.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            let target = call.target.as_deref_mut();
            target.into_iter().chain(&mut call.args).for_each(visit);
        }
        Expr::Comprehension(c) => {
            [
                &mut c.iter_range,
                &mut c.accu_init,
                &mut c.loop_cond,
                &mut c.loop_step,
                &mut c.result,
            ]
            .into_iter()
            .for_each(visit);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(visit),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    visit(&mut entry.key);
                    visit(&mut entry.value);
                }
            }
        }
        Expr::Select(select) => visit(&mut select.operand),
        Expr::Struct(s) => {
            for entry in &mut s.entries {
                if let EntryExpr::StructField(entry) = &mut entry.expr {
                    visit(&mut entry.value);
                }
            }
        }
    }
}

impl<'a> Rewriter<'a> {
    /// A pass for an expression that may read `variables`.
    pub(super) fn new(variables: &[&str], is_known: &'a dyn Fn(&str) -> bool) -> Self {
        Self {
            scope: variables.iter().map(|v| (*v).to_owned()).collect(),
            n_free: variables.len(),
            is_known,
            used: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Rewrites one expression in place.
    pub(super) fn expression(&mut self, tree: &mut IdedExpr) {
        if let Some(name) = qualified(tree)
            && TYPE_NAMES.contains(&name.as_str())
            && !self.scope.contains(&name)
        {
            *tree = text(&type_text(&name));
            return;
        }
        match &mut tree.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.variable(&name.clone()),
            Expr::Select(select) => self.expression(&mut select.operand),
            Expr::List(list) => list.elements.iter_mut().for_each(|e| self.expression(e)),
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        self.expression(&mut entry.key);
                        self.expression(&mut entry.value);
                    }
                }
            }
            Expr::Struct(s) => {
                let name = s.type_name.clone();
                self.problem(
                    format!("undeclared reference to '{name}' (in container '')"),
                    &name,
                );
            }
            Expr::Comprehension(c) => match as_loop(c) {
                Some(turns) => {
                    *tree = turns;
                    self.expression(tree);
                }
                None => self.comprehension(tree),
            },
            Expr::Call(_) => self.call(tree),
        }
    }

    fn variable(&mut self, name: &str) {
        match self.scope.iter().rposition(|v| v == name) {
            Some(at) if at < self.n_free => {
                self.used.insert(name.to_owned());
            }
            Some(_) => {}
            None => {
                self.problem(
                    format!("undeclared reference to '{name}' (in container '')"),
                    name,
                );
            }
        }
    }

    fn comprehension(&mut self, tree: &mut IdedExpr) {
        let Expr::Comprehension(c) = &mut tree.expr else {
            return;
        };
        // What is left of comprehensions is `cel.bind`.
        self.expression(&mut c.accu_init);
        self.scope.push(c.accu_var.clone());
        self.expression(&mut c.result);
        self.scope.pop();
    }

    /// The arguments of a loop: kind, weight of a turn, range, names, body and filter.
    fn turns(&mut self, arguments: &mut [IdedExpr]) {
        let [_, cost, range, names @ .., body, filter] = arguments else {
            return;
        };
        self.expression(range);
        let mark = self.scope.len();
        for name in names {
            if let Expr::Ident(name) = &name.expr {
                self.scope.push(name.clone());
            }
        }
        self.expression(body);
        self.expression(filter);
        self.scope.truncate(mark);
        let turn = weight(body).saturating_add(weight(filter));
        *cost = integer(i64::try_from(turn).unwrap_or(i64::MAX));
    }

    fn call(&mut self, tree: &mut IdedExpr) {
        if let Some(expanded) = self.expand(tree) {
            *tree = expanded;
            self.expression(tree);
            return;
        }
        let Expr::Call(c) = &mut tree.expr else {
            return;
        };
        if c.func_name == operators::OPT_SELECT {
            c.func_name = operators::OPT_INDEX.to_owned();
        }
        let name = c.func_name.clone();
        if name == LOOP {
            self.turns(&mut c.args);
            return;
        }
        if is_operator(&name) || name.starts_with('@') {
            c.args.iter_mut().for_each(|a| self.expression(a));
            let compares =
                [operators::EQUALS, operators::NOT_EQUALS, operators::IN].contains(&name.as_str());
            if compares && !c.args.iter().any(|a| matches!(a.expr, Expr::Literal(_))) {
                c.args.iter_mut().for_each(|a| wrap(a, COST, Vec::new()));
            }
            // Growing texts and lists pay.
            if name == operators::ADD {
                wrap(tree, COST, Vec::new());
            }
            return;
        }
        if name == "type" && c.target.is_none() && c.args.len() == 1 {
            c.func_name = TYPE.to_owned();
            self.expression(&mut c.args[0]);
            return;
        }
        self.function(tree);
    }

    /// A call of a library function: is it known, and what does it cost?
    fn function(&mut self, tree: &mut IdedExpr) {
        let Expr::Call(c) = &mut tree.expr else {
            return;
        };
        let name = c.func_name.clone();
        let namespace = c.target.as_deref().and_then(qualified);
        let full = namespace
            .filter(|n| !self.scope.contains(n))
            .map(|n| format!("{n}.{name}"));
        let full = full.filter(|full| (self.is_known)(full));
        match (&full, &mut c.target) {
            (Some(_), _) => {}
            (None, Some(target)) => self.expression(target),
            (None, None) => {}
        }
        if full.is_none() && !(self.is_known)(&name) {
            self.problem(
                format!("undeclared reference to '{name}' (in container '')"),
                &name,
            );
        }
        c.args.iter_mut().for_each(|a| self.expression(a));
        match full.as_deref().unwrap_or(&name) {
            "sets.contains" | "sets.equivalent" | "sets.intersects" if c.args.len() == 2 => {
                let by = c.args[1].clone();
                wrap(&mut c.args[0], PRODUCT, vec![by]);
            }
            "lists.range" => c.args.iter_mut().for_each(|a| wrap(a, COUNT, Vec::new())),
            "distinct" | "sort" => {
                if let Some(target) = &mut c.target {
                    let by = (**target).clone();
                    wrap(target, PRODUCT, vec![by]);
                }
            }
            "replace" if c.args.len() >= 2 => {
                let by = c.args[1].clone();
                if let Some(target) = &mut c.target {
                    wrap(target, PRODUCT, vec![by]);
                }
            }
            "join" if c.args.len() == 1 => {
                let by = c.args[0].clone();
                if let Some(target) = &mut c.target {
                    wrap(target, PRODUCT, vec![by]);
                }
            }
            _ => {
                if let (None, Some(target)) = (&full, &mut c.target) {
                    wrap(target, COST, Vec::new());
                }
            }
        }
        wrap(tree, COST, Vec::new());
    }

    /// Expands a macro the parser does not know.
    fn expand(&mut self, tree: &mut IdedExpr) -> Option<IdedExpr> {
        let Expr::Call(c) = &tree.expr else {
            return None;
        };
        let target = c.target.as_deref()?;
        let variable = |at: usize| match &c.args.get(at)?.expr {
            Expr::Ident(name) => Some(name.clone()),
            _ => None,
        };
        let arg = |at: usize| c.args[at].clone();
        Some(match (c.func_name.as_str(), c.args.len()) {
            ("bind", 3) if matches!(&target.expr, Expr::Ident(n) if n == "cel") => {
                bind(&variable(0)?, arg(1), arg(2))
            }
            ("optMap", 2) => {
                let body = bind(&variable(0)?, method(target, "value"), arg(1));
                let some = namespaced("optional", "of", vec![body]);
                choose(
                    method(target, "hasValue"),
                    some,
                    namespaced("optional", "none", vec![]),
                )
            }
            ("optFlatMap", 2) => {
                let body = bind(&variable(0)?, method(target, "value"), arg(1));
                choose(
                    method(target, "hasValue"),
                    body,
                    namespaced("optional", "none", vec![]),
                )
            }
            ("sortBy", 2) => {
                let name = variable(0)?;
                let keys = looped(Loop::Collect, target.clone(), &[&name], arg(1), None);
                call(SORT_BY, vec![target.clone(), keys])
            }
            (name @ ("all" | "exists" | "existsOne" | "exists_one"), 3) => {
                let kind = match name {
                    "all" => Loop::All,
                    "exists" => Loop::Exists,
                    _ => Loop::ExistsOne,
                };
                let names = [variable(0)?, variable(1)?];
                looped(kind, target.clone(), &[&names[0], &names[1]], arg(2), None)
            }
            (name @ ("transformList" | "transformMap" | "transformMapEntry"), 3 | 4) => {
                let kind = match name {
                    "transformList" => Loop::Collect,
                    "transformMap" => Loop::CollectMap,
                    _ => Loop::CollectEntries,
                };
                let last = c.args.len() - 1;
                let names = [variable(0)?, variable(1)?];
                let filter = (last == 3).then(|| arg(2));
                looped(
                    kind,
                    target.clone(),
                    &[&names[0], &names[1]],
                    arg(last),
                    filter,
                )
            }
            _ => return None,
        })
    }

    fn problem(&mut self, text: String, name: &str) {
        self.problems.push(Problem {
            text,
            name: name.to_owned(),
        });
    }
}

impl Problem {
    /// Where in the source the name stands: the byte offset of its first whole-word occurrence.
    pub(super) fn find(&self, source: &str) -> usize {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if self.name.starts_with('.') || !self.name.starts_with(is_word) {
            // A field or an operator: what comes before does not matter.
            let mut places = source.match_indices(self.name.as_str());
            let whole = places.find(|(at, n)| !source[at + n.len()..].starts_with(is_word));
            return whole.map_or(0, |(at, _)| at);
        }
        source
            .match_indices(&self.name)
            .find(|(at, name)| {
                !source[..*at].ends_with(|c: char| is_word(c) || c == '.')
                    && !source[at + name.len()..].starts_with(is_word)
            })
            .or_else(|| source.match_indices(&self.name).next())
            .map_or(0, |(at, _)| at)
    }
}

fn is_operator(name: &str) -> bool {
    name.starts_with('_') || name.ends_with('_') && !name.starts_with(char::is_alphabetic)
}

/// `a.b.c` as a text, if the expression is only names.
fn qualified(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(SelectExpr {
            operand,
            field,
            test: false,
        }) => Some(format!("{}.{field}", qualified(operand)?)),
        _ => None,
    }
}

// Small constructors. Ids matter only to error positions, which we find by name.

fn node(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn ident(name: &str) -> IdedExpr {
    node(Expr::Ident(name.to_owned()))
}

fn text(value: &str) -> IdedExpr {
    node(Expr::Literal(LiteralValue::String(value.into())))
}

pub(super) fn integer(value: i64) -> IdedExpr {
    node(Expr::Literal(LiteralValue::Int(value.into())))
}

fn boolean(value: bool) -> IdedExpr {
    node(Expr::Literal(LiteralValue::Boolean(value.into())))
}

pub(super) fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    }))
}

fn method(target: &IdedExpr, name: &str) -> IdedExpr {
    let target = Some(Box::new(target.clone()));
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target,
        args: Vec::new(),
    }))
}

fn namespaced(namespace: &str, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    let target = Some(Box::new(ident(namespace)));
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target,
        args,
    }))
}

fn choose(condition: IdedExpr, yes: IdedExpr, no: IdedExpr) -> IdedExpr {
    call(operators::CONDITIONAL, vec![condition, yes, no])
}

fn wrap(tree: &mut IdedExpr, function: &str, more: Vec<IdedExpr>) {
    let mut args = vec![std::mem::take(tree)];
    args.extend(more);
    *tree = call(function, args);
}

/// `variable` stands for `value` in `body`: a loop over nothing.
fn bind(variable: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    node(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: node(Expr::List(ListExpr::new(Vec::new()))),
        iter_var: "@unused".to_owned(),
        iter_var2: None,
        accu_var: variable.to_owned(),
        accu_init: value,
        loop_cond: boolean(false),
        loop_step: ident(variable),
        result: body,
    })))
}

/// A loop over `range` with one or two names for what each turn sees.
fn looped(
    kind: Loop,
    range: IdedExpr,
    names: &[&str],
    body: IdedExpr,
    filter: Option<IdedExpr>,
) -> IdedExpr {
    let mut args = vec![text(kind.as_str()), integer(1), range];
    args.extend(names.iter().map(|name| ident(name)));
    args.push(body);
    args.push(filter.unwrap_or_else(|| boolean(true)));
    call(LOOP, args)
}

/// The loop behind what the parser made of `all`, `exists`, `exists_one`, `map` or `filter`.
fn as_loop(c: &ComprehensionExpr) -> Option<IdedExpr> {
    let Expr::Call(step) = &c.loop_step.expr else {
        return None;
    };
    let range = c.iter_range.clone();
    let names = [c.iter_var.as_str()];
    let collected = |step: &IdedExpr| match &step.expr {
        Expr::Call(sum) if sum.func_name == operators::ADD => match &sum.args.get(1)?.expr {
            Expr::List(list) => list.elements.first().cloned(),
            _ => None,
        },
        _ => None,
    };
    let is_list = matches!(c.accu_init.expr, Expr::List(_));
    Some(match step.func_name.as_str() {
        operators::LOGICAL_AND => looped(Loop::All, range, &names, step.args.get(1)?.clone(), None),
        operators::LOGICAL_OR => {
            looped(Loop::Exists, range, &names, step.args.get(1)?.clone(), None)
        }
        operators::ADD if is_list => {
            looped(Loop::Collect, range, &names, collected(&c.loop_step)?, None)
        }
        operators::CONDITIONAL if is_list => {
            let filter = step.args.first()?.clone();
            looped(
                Loop::Collect,
                range,
                &names,
                collected(step.args.get(1)?)?,
                Some(filter),
            )
        }
        operators::CONDITIONAL => looped(
            Loop::ExistsOne,
            range,
            &names,
            step.args.first()?.clone(),
            None,
        ),
        _ => return None,
    })
}
