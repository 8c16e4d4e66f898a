//! The CEL evaluator behind a narrow door.
//!
//! [`Expression`] is all the rest knows: compile a text, ask which variables it reads, evaluate it
//! with some values within a budget. Inside it is the `kube-cel` crate (parser, evaluator and the
//! Kubernetes function libraries), plus what that lacks and what rewriting the syntax tree can add
//! ([`super::rewrite`]): cost metering, `cel.bind`, comprehensions with two variables, `sortBy`,
//! `optMap`, `type()`.
//!
//! The budget is counted in upstream's units as well as that can be done from outside an
//! evaluator: one for each node evaluated, a tenth for each byte or item a function touches.
//! Besides, the caller's [`Interrupt`] is asked at every turn of a loop, so even an expression
//! whose cost is misjudged ends in time.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

use super::check;
use super::functions;
use super::rewrite;
use super::unordered::{self, Shape};
use crate::crd::structural::Node;

/// Longest expression, in bytes (cel-go's limit is 100,000 code points).
pub const SOURCE_BYTES_MAX: usize = 100_000;

/// Deepest syntax tree, so that walking it fits a thread's stack.
const DEPTH_MAX: usize = 250;

/// Asked now and then during an evaluation; true ends it.
pub type Interrupt = Arc<dyn Fn() -> bool + Send + Sync>;

/// A compiled expression.
pub struct Expression {
    tree: IdedExpr,
    /// What every evaluation costs at least.
    base_cost: u64,
    /// What comparisons and sums look at that do not care for order.
    shapes: Arc<[Arc<Shape>]>,
    variables: Box<[Box<str>]>,
}

/// A value an expression can read, converted once for all rules that look at it.
#[derive(Clone)]
pub struct Bound(pub(super) Value);

/// What an expression evaluated to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `true` or `false`.
    Bool(bool),
    /// A string.
    Text(String),
    /// Anything else.
    Other,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The expression used more than it was allowed to.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
    /// The caller's interrupt fired.
    #[error("operation interrupted")]
    Interrupted,
    /// Evaluation failed, in cel-go's words where they are known.
    #[error("{0}")]
    Error(String),
}

/// Budget of the evaluation that runs on this thread, and what its functions look at.
pub(super) struct Meter {
    left: Cell<u64>,
    shapes: RefCell<Arc<[Arc<Shape>]>>,
    interrupt: RefCell<Option<Interrupt>>,
    stopped: RefCell<Option<Failure>>,
}

thread_local! {
    static METER: Meter = Meter {
        left: Cell::new(0),
        shapes: RefCell::default(),
        interrupt: RefCell::new(None),
        stopped: RefCell::new(None),
    };
}

/// All functions; evaluations add their variables in a scope below it.
static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut ctx = Context::default().with_all();
    functions::register(&mut ctx);
    unordered::register(&mut ctx);
    ctx
});

// === impl Expression ===

impl Expression {
    /// Compiles `source`, which may read `variables`.
    ///
    /// # Errors
    /// What is wrong, as cel-go prints it: one `ERROR: <input>:line:column: …` per mistake.
    pub fn compile(source: &str, variables: &[&str]) -> Result<Self, String> {
        check_size(source)?;
        let mut tree = parse(source)?;
        let mut rewriter = rewrite::Rewriter::new(variables, &is_known);
        rewriter.expression(&mut tree);
        if let Some(problem) = rewriter.problems.first() {
            return Err(super::issue(source, problem.find(source), &problem.text));
        }
        let base_cost = rewrite::weight(&tree);
        let used = rewriter.used.into_iter().map(Into::into).collect();
        Ok(Self {
            tree,
            base_cost,
            shapes: Arc::default(),
            variables: used,
        })
    }

    /// The expression as rules at `node` read it: sets and keyed lists compare and add up without regard to order.
    pub(super) fn at(mut self, node: &Node, optional_old_self: bool) -> Self {
        if unordered::shape(node).is_some() {
            let found = check::check(&self.tree, node, false, optional_old_self);
            self.shapes = unordered::rewrite(&mut self.tree, found.unordered);
        }
        self
    }

    /// Whether the expression reads the variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.variables.iter().any(|v| v.as_ref() == variable)
    }

    /// The rewritten syntax tree.
    pub(super) fn tree(&self) -> &IdedExpr {
        &self.tree
    }

    /// Evaluates with these variables; also returns what it cost, at most about `limit`.
    pub fn evaluate(
        &self,
        variables: &[(&str, &Bound)],
        limit: u64,
        interrupt: Option<&Interrupt>,
    ) -> (Result<Answer, Failure>, u64) {
        let mut ctx = LIBRARY.new_inner_scope();
        for (name, value) in variables {
            ctx.add_variable_from_value(*name, value.0.clone());
        }
        METER.with(|meter| {
            meter.left.set(limit);
            meter.interrupt.replace(interrupt.cloned());
            meter.shapes.replace(Arc::clone(&self.shapes));
            meter.stopped.replace(None);
            let result = meter.charge(self.base_cost).and_then(|()| {
                guarded(|| Value::resolve(&self.tree, &ctx))
                    .unwrap_or_else(|| Err(ExecutionError::function_error("", PANICKED)))
            });
            meter.interrupt.replace(None);
            let cost = limit - meter.left.get();
            // Errors inside || and && may have been absorbed; a stop may not.
            let answer = match (meter.stopped.take(), result) {
                (Some(stop), _) => Err(stop),
                (None, Ok(value)) => Ok(answer(&value)),
                (None, Err(error)) => Err(Failure::Error(failure_text(&error))),
            };
            (answer, cost)
        })
    }
}

// === impl Bound ===

impl Bound {
    /// An optional that holds this value.
    pub fn optional(&self) -> Self {
        Self(Value::Opaque(Arc::new(OptionalValue::of(self.0.clone()))))
    }

    /// An optional without a value.
    pub fn none() -> Self {
        Self(Value::Opaque(Arc::new(OptionalValue::none())))
    }
}

// === impl Meter ===

impl Meter {
    /// Takes `cost` from what is left.
    ///
    /// # Errors
    /// When nothing is left, or the interrupt fired.
    fn charge(&self, cost: u64) -> Result<(), ExecutionError> {
        let stop = if self.left.get() < cost {
            self.left.set(0);
            Failure::CostExceeded
        } else if self
            .interrupt
            .borrow()
            .as_ref()
            .is_some_and(|fired| fired())
        {
            Failure::Interrupted
        } else {
            self.left.set(self.left.get() - cost);
            if self.stopped.borrow().is_none() {
                return Ok(());
            }
            Failure::CostExceeded
        };
        let text = stop.to_string();
        self.stopped.borrow_mut().get_or_insert(stop);
        Err(ExecutionError::function_error("cost", text))
    }
}

/// Takes `cost` from the budget of the running evaluation.
pub(super) fn charge(cost: u64) -> Result<(), ExecutionError> {
    METER.with(|meter| meter.charge(cost))
}

/// A shape of the expression that is being evaluated.
pub(super) fn shape_of_running(number: i64) -> Option<Arc<Shape>> {
    let number = usize::try_from(number).ok()?;
    METER.with(|meter| meter.shapes.borrow().get(number).cloned())
}

/// What is said when the evaluator panics.
const PANICKED: &str = "internal error of the evaluator";

/// Whether `source` is an expression at all; its variables and functions may be any.
///
/// # Errors
/// What is wrong, as cel-go prints it.
pub fn check_syntax(source: &str) -> Result<(), String> {
    check_size(source)?;
    parse(source).map(drop)
}

fn parse(source: &str) -> Result<IdedExpr, String> {
    let parser = Parser::new().enable_optional_syntax(true);
    let tree = match guarded(|| parser.parse(source)) {
        // cel-go indents the lines that show the place, this parser does not.
        Some(parsed) => parsed.map_err(|e| e.to_string().replace("\n| ", "\n | "))?,
        None => return Err(super::issue(source, 0, PANICKED)),
    };
    if rewrite::depth(&tree) > DEPTH_MAX {
        let why = format!("expression recursion limit exceeded: {DEPTH_MAX}");
        return Err(super::issue(source, 0, &why));
    }
    Ok(tree)
}

/// Bounds of what the parser, which recurses, is given.
fn check_size(source: &str) -> Result<(), String> {
    if source.len() > SOURCE_BYTES_MAX {
        let n = source.chars().count();
        let why = format!(
            "expression code point size exceeds limit: size: {n}, limit {SOURCE_BYTES_MAX}"
        );
        return Err(super::issue(source, 0, &why));
    }
    if rewrite::nesting(source) > DEPTH_MAX {
        let why = format!("expression recursion limit exceeded: {DEPTH_MAX}");
        return Err(super::issue(source, 0, &why));
    }
    Ok(())
}

/// Runs foreign code that panics on some inputs (`'%.99999999f'.format([1.0])`).
fn guarded<T>(run: impl FnOnce() -> T) -> Option<T> {
    // Nothing it touches outlives the evaluation, so nothing broken can be seen afterwards.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).ok()
}

/// Whether a function of this (qualified) name exists.
fn is_known(name: &str) -> bool {
    use kube_cel::cel::common::ast::{CallExpr, Expr};
    // The registry is private to the crate; calling without arguments tells.
    let call = CallExpr {
        func_name: name.to_owned(),
        target: None,
        args: Vec::new(),
    };
    let call = IdedExpr {
        id: 0,
        expr: Expr::Call(call),
    };
    !matches!(
        Value::resolve(&call, &LIBRARY),
        Err(ExecutionError::UndeclaredReference(_))
    )
}

fn answer(value: &Value) -> Answer {
    match value {
        Value::Bool(b) => Answer::Bool(*b),
        Value::String(text) => Answer::Text(text.to_string()),
        _ => Answer::Other,
    }
}

fn failure_text(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnsupportedMapIndex(_)
        | ExecutionError::UnsupportedListIndex(_)
        | ExecutionError::UnsupportedIndex(..)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::InvalidArgumentCount { .. } => "no such overload".to_owned(),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}'"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(index) => match index {
            Value::Int(at) => format!("index out of bounds: {at}"),
            _ => "index out of bounds".to_owned(),
        },
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
