// SPDX-License-Identifier: Apache-2.0
/// A value on the heap: a copy costs one reference instead of a copy of all its members.
///
/// For large values that change rarely and are passed on often, such as a response's facts. It remains a value: a
/// change creates a new box, which allocates.
@dynamicMemberLookup
package struct Boxed<Value: Sendable>: Sendable {
    private final class Box: Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    package init(_ value: Value) { self.box = Box(value) }

    package var value: Value {
        _read { yield self.box.value }
        set { self.box = Box(newValue) }
    }

    package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { self.box.value[keyPath: path] }

    package subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
        get { self.box.value[keyPath: path] }
        set {
            var changed = self.box.value
            changed[keyPath: path] = newValue
            self.box = Box(changed)
        }
    }
}

extension Boxed: Equatable where Value: Equatable {
    package static func == (left: Boxed, right: Boxed) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}
