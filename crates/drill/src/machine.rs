//! Runs the statements of code blocks.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::code::Step;
use super::expression::{Check, Fault, Object};
use super::report::Field;

/// Most steps of one code block, and calls of functions within each other.
const MOST_STEPS: u64 = 1_000_000;
const MOST_CALLS: usize = 32;

/// The variables and the functions of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    variables: BTreeMap<String, Object>,
    /// The variables of the functions that are being called.
    locals: Vec<BTreeMap<String, Object>>,
    functions: BTreeMap<String, (Vec<String>, Rc<[Step]>)>,
    steps: u64,
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
        self.locals.clear();
        self.flow(steps, value).map(|_| ())
    }

    /// Counts a step.
    ///
    /// # Errors
    /// [`Fault::Wrong`] if there are too many.
    pub(super) fn count_step(&mut self) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(Fault::Wrong("the code does not end".into()));
        }
        Ok(())
    }

    pub(super) fn variable(&self, name: &str) -> Option<&Object> {
        let local = self.locals.last().and_then(|locals| locals.get(name));
        local.or_else(|| self.variables.get(name))
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
            // In a function a variable of the script is changed, and others belong to the function.
            let is_global = self.variables.contains_key(target);
            let locals = self.locals.last_mut();
            let locals = locals.filter(|locals| locals.contains_key(target) || !is_global);
            locals
                .unwrap_or(&mut self.variables)
                .insert(target.clone(), object);
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
            return Err(Fault::Wrong(format!("{name} is no function")));
        };
        if parameters.len() != arguments.len() || self.locals.len() >= MOST_CALLS {
            let (wants, has) = (parameters.len(), arguments.len());
            return Err(Fault::Wrong(format!(
                "{name} is called with {has} instead of {wants} arguments, or too deeply"
            )));
        }
        self.locals
            .push(parameters.into_iter().zip(arguments).collect());
        let flow = self.flow(&steps, value);
        self.locals.pop();
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
            Step::Keep(targets, check) => {
                let object = self.evaluate(check, value)?;
                self.keep(targets, object, check)?;
            }
            Step::Change(target, operator, check) => {
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
