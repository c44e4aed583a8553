/// Which of Apple's servers know a device: those for apps from the store and from TestFlight, or those for development
/// builds.
enum Environment: UInt8, Sendable {
    case production
    case sandbox

    var other: Environment { self == .production ? .sandbox : .production }
}

/// Something of each environment.
struct PerEnvironment<Value: Sendable>: Sendable {
    let production: Value
    let sandbox: Value

    subscript(environment: Environment) -> Value {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }

    func map<Other>(_ transform: (Value) -> Other) -> PerEnvironment<Other> {
        PerEnvironment<Other>(production: transform(production), sandbox: transform(sandbox))
    }
}
