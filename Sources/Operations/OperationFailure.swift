/// Why something that an operator asked for could not be done.
package struct OperationFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// What was asked for cannot be understood.
        case invalid
        /// There is nothing of that name or number.
        case unknown
        /// It cannot be done at this moment, or by these means.
        case unavailable
    }

    package let kind: Kind
    /// What is wrong and what was expected; no secrets.
    package let description: String

    static func invalid(_ description: String) -> OperationFailure {
        OperationFailure(kind: .invalid, description: description)
    }

    static func unknown(_ description: String) -> OperationFailure {
        OperationFailure(kind: .unknown, description: description)
    }

    package static func unavailable(_ description: String) -> OperationFailure {
        OperationFailure(kind: .unavailable, description: description)
    }
}
