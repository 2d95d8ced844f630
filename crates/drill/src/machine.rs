//! Runs the statements of code blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::code::Step;
use super::expression::{Check, Fault, Object, MOST_ITEMS};
use super::report::Field;

/// Most steps of one code block, and calls of functions within each other.
const MOST_STEPS: u64 = 1_000_000;
const MOST_CALLS: usize = 32;

/// The variables and the functions of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    variables: BTreeMap<String, Object>,
    /// The variables of the functions that are being called, and of their comprehensions.
    scopes: Vec<Scope>,
    functions: BTreeMap<String, (Vec<String>, Rc<[Step]>)>,
    steps: u64,
}

/// Variables that belong to a function or to a comprehension.
#[derive(Clone, Debug, Default)]
struct Scope {
    variables: BTreeMap<String, Object>,
    /// Names that `global` makes those of the script.
    globals: BTreeSet<String>,
    /// A comprehension: its function has the other variables.
    is_inner: bool,
}

/// A statement that has failed, and why: its assertion does not hold if there is no fault.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    pub(super) check: Check,
    pub(super) fault: Option<Fault>,
}

/// What follows a statement.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Object),
}

type Fields<'a> = &'a dyn Fn(Field) -> Option<f64>;

impl Machine {
    /// Runs the steps of a block; fields are those that `value` gives.
    ///
    /// # Errors
    /// The first statement that fails.
    pub(super) fn run(&mut self, steps: &[Step], value: Fields<'_>) -> Result<(), Box<Missed>> {
        self.steps = 0;
        self.scopes.clear();
        self.flow(steps, value).map(|_| ())
    }

    /// Counts a step.
    ///
    /// # Errors
    /// [`Fault::Wrong`] if there are too many.
    pub(super) fn count_step(&mut self) -> Result<(), Fault> {
        self.count_steps(1)
    }

    /// Counts steps; each value that is copied is one.
    ///
    /// # Errors
    /// [`Fault::Wrong`] if there are too many.
    pub(super) fn count_steps(&mut self, steps: u64) -> Result<(), Fault> {
        self.steps += steps;
        if self.steps > MOST_STEPS {
            return Err(Fault::Wrong("the code does not end".into()));
        }
        Ok(())
    }

    pub(super) fn variable(&self, name: &str) -> Option<&Object> {
        for scope in self.scopes.iter().rev() {
            if let Some(object) = scope.variables.get(name) {
                return Some(object);
            }
            if !scope.is_inner {
                break;
            }
        }
        self.variables.get(name)
    }

    /// Appends to a list where it is, also to one of the script in a function.
    ///
    /// # Errors
    /// [`Fault::Wrong`] if there is no such list, or if it is too long.
    pub(super) fn append(&mut self, name: &str, item: Object) -> Result<(), Fault> {
        self.count_steps(item.size())?;
        let mut scopes = self.scopes.iter_mut().rev();
        let ends = scopes
            .by_ref()
            .find(|one| !one.is_inner || one.variables.contains_key(name));
        let own = ends.and_then(|one| one.variables.get_mut(name));
        match own.or_else(|| self.variables.get_mut(name)) {
            Some(Object::List(items)) if items.len() < MOST_ITEMS => items.push(item),
            _ => {
                return Err(Fault::Wrong(format!(
                    "{name} is not a list, or is too long"
                )))
            }
        }
        Ok(())
    }

    /// Begins a comprehension with variables of its own.
    pub(super) fn begin_scope(&mut self, targets: &[String]) {
        let own = targets.iter().map(|name| (name.clone(), Object::Nothing));
        self.scopes.push(Scope {
            variables: own.collect(),
            is_inner: true,
            ..Scope::default()
        });
    }

    /// Ends it.
    pub(super) fn end_scope(&mut self) {
        self.scopes.pop();
    }

    /// Assigns a value to a variable, or its items to several.
    ///
    /// # Errors
    /// [`Fault::Wrong`] if there are fewer or more items.
    pub(super) fn assign(&mut self, targets: &[String], object: Object) -> Result<(), Fault> {
        let objects = match targets {
            [_] => vec![object],
            _ => object.items()?,
        };
        if objects.len() != targets.len() {
            let (to, of) = (targets.len(), objects.len());
            return Err(Fault::Wrong(format!("{of} values for {to} variables")));
        }
        for (target, object) in targets.iter().zip(objects) {
            self.count_steps(object.size())?;
            let mut scopes = self.scopes.iter_mut().rev();
            // A comprehension has only its own; a function all that it does not say are the script's.
            let scope = scopes.find(|one| !one.is_inner || one.variables.contains_key(target));
            let scope = scope.filter(|one| !one.globals.contains(target));
            let variables = scope.map_or(&mut self.variables, |one| &mut one.variables);
            variables.insert(target.clone(), object);
        }
        Ok(())
    }

    /// Calls a function of the script.
    ///
    /// # Errors
    /// [`Fault`] if that is not possible, or one of its statements fails.
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: Vec<Object>,
        value: Fields<'_>,
    ) -> Result<Object, Fault> {
        let Some((parameters, steps)) = self.functions.get(name).cloned() else {
            return Err(Fault::Wrong(format!("{name} is not a function")));
        };
        if parameters.len() != arguments.len() || self.scopes.len() >= MOST_CALLS {
            let (wants, has) = (parameters.len(), arguments.len());
            return Err(Fault::Wrong(format!(
                "{name} is called with {has} instead of {wants} arguments, or too deeply"
            )));
        }
        self.scopes.push(Scope {
            variables: parameters.into_iter().zip(arguments).collect(),
            ..Scope::default()
        });
        let flow = self.flow(&steps, value);
        self.scopes.pop();
        match flow {
            Ok(Flow::Return(object)) => Ok(object),
            Ok(_) => Ok(Object::Nothing),
            Err(missed) => Err(Fault::Missed(missed)),
        }
    }

    /// The value of an expression.
    fn evaluate(&mut self, check: &Check, value: Fields<'_>) -> Result<Object, Box<Missed>> {
        let object = check.expression.evaluate(value, self);
        object.map_err(|fault| failed(check, fault))
    }

    fn keep(
        &mut self,
        targets: &[String],
        object: Object,
        check: &Check,
    ) -> Result<(), Box<Missed>> {
        self.assign(targets, object)
            .map_err(|fault| failed(check, fault))
    }

    fn flow(&mut self, steps: &[Step], value: Fields<'_>) -> Result<Flow, Box<Missed>> {
        for step in steps {
            let flow = self.step(step, value)?;
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, step: &Step, value: Fields<'_>) -> Result<Flow, Box<Missed>> {
        match step {
            Step::Check(check) => {
                if !self.evaluate(check, value)?.holds() {
                    let check = check.clone();
                    return Err(Box::new(Missed { check, fault: None }));
                }
            }
            Step::Assign(targets, check) => {
                let object = self.evaluate(check, value)?;
                self.keep(targets, object, check)?;
            }
            Step::Update(target, operator, check) => {
                let right = self.evaluate(check, value)?;
                let left = self.variable(target).cloned().unwrap_or_default();
                let object = operator.apply(&left, &right);
                let object = object.map_err(|fault| failed(check, fault))?;
                self.keep(std::slice::from_ref(target), object, check)?;
            }
            Step::Value(check) => {
                self.evaluate(check, value)?;
            }
            Step::If(branches) => {
                for (condition, steps) in branches {
                    let is_taken = match condition {
                        Some(check) => self.evaluate(check, value)?.holds(),
                        None => true,
                    };
                    if is_taken {
                        return self.flow(steps, value);
                    }
                }
            }
            Step::While(check, steps) => {
                while self.evaluate(check, value)?.holds() {
                    match self.flow(steps, value)? {
                        Flow::Break => break,
                        Flow::Return(object) => return Ok(Flow::Return(object)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            Step::For(targets, check, steps) => {
                let items = self.evaluate(check, value)?.items();
                for item in items.map_err(|fault| failed(check, fault))? {
                    self.keep(targets, item, check)?;
                    match self.flow(steps, value)? {
                        Flow::Break => break,
                        Flow::Return(object) => return Ok(Flow::Return(object)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            Step::Global(names) => {
                if let Some(scope) = self.scopes.last_mut() {
                    scope.globals.extend(names.iter().cloned());
                }
            }
            Step::Break => return Ok(Flow::Break),
            Step::Continue => return Ok(Flow::Continue),
            Step::Define(name, parameters, steps) => {
                let function = (parameters.clone(), steps.clone());
                self.functions.insert(name.clone(), function);
            }
            Step::Return(check) => {
                let object = match check {
                    Some(check) => self.evaluate(check, value)?,
                    None => Object::Nothing,
                };
                return Ok(Flow::Return(object));
            }
        }
        Ok(Flow::Next)
    }
}

fn failed(check: &Check, fault: Fault) -> Box<Missed> {
    match fault {
        Fault::Missed(missed) => missed,
        fault => Box::new(Missed {
            check: check.clone(),
            fault: Some(fault),
        }),
    }
}
