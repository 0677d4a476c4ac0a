//! Steps that another one comes after.

use crate::place::FlowId;
use crate::step::StepRef;
use sealed::Sealed;

/// Steps that another one comes [after](crate::StepBuilder::after): a [`StepRef`], a name, or several of these, as an array, a
/// slice, a `Vec`, an `Option`, or a tuple of up to eight whose outputs are of different types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no steps",
    note = "a step comes after a `StepRef`, a name, an array or `Vec` of these, or a tuple of up to eight: \
            `.after((flight, hotel))`"
)]
pub trait Steps: Sealed {}

impl<T: Sealed> Steps for T {}

/// A step by its name, and the workflow that it is known to be of.
#[derive(Debug)]
pub struct Named {
    pub(crate) name: String,
    pub(crate) flow: Option<FlowId>,
}

pub(crate) mod sealed {
    use super::Named;

    pub trait Sealed {
        fn put_into(self, names: &mut Vec<Named>);
    }
}

impl<Out> Sealed for StepRef<Out> {
    fn put_into(self, names: &mut Vec<Named>) {
        names.push(Named { name: self.name().to_owned(), flow: Some(self.flow()) });
    }
}

impl Sealed for String {
    fn put_into(self, names: &mut Vec<Named>) {
        names.push(Named { name: self, flow: None });
    }
}

impl Sealed for &str {
    fn put_into(self, names: &mut Vec<Named>) {
        self.to_owned().put_into(names);
    }
}

impl<T: Sealed + Clone> Sealed for &[T] {
    fn put_into(self, names: &mut Vec<Named>) {
        self.iter().cloned().for_each(|step| step.put_into(names));
    }
}

macro_rules! many {
    ($([$($of:tt)*] $many:ty),*) => {$(
        impl<$($of)*> Sealed for $many {
            fn put_into(self, names: &mut Vec<Named>) {
                self.into_iter().for_each(|step| step.put_into(names));
            }
        }
    )*};
}

many!([T: Sealed, const N: usize] [T; N], [T: Sealed] Vec<T>, [T: Sealed] Option<T>);

macro_rules! tuples {
    ($($first:ident $($rest:ident)*)?) => {$(
        impl<$first: Sealed, $($rest: Sealed),*> Sealed for ($first, $($rest,)*) {
            fn put_into(self, names: &mut Vec<Named>) {
                #[expect(non_snake_case, reason = "each is named as its type is")]
                let ($first, $($rest,)*) = self;
                $first.put_into(names);
                $($rest.put_into(names);)*
            }
        }
        tuples!($($rest)*);
    )?};
}

tuples!(A B C D E F G H);
