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
