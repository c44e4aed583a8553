/// An error that can carry what ``JSONReader`` found, so that readers of events and of messages each throw their own.
protocol JSONFailure: Error {
    init(_ fault: JSONFault)
}

extension JSONFault: JSONFailure {
    init(_ fault: JSONFault) {
        self = fault
    }
}
