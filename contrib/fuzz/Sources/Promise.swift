import Glibc

/// Ends the program unless `isKept`; libFuzzer then keeps the input.
func promise(_ isKept: Bool, _ sentence: @autoclosure () -> String) {
    if !isKept { end(sentence()) }
}

/// Returns the result of `body`, or ends the program.
func promised<Value>(_ sentence: @autoclosure () -> String, _ body: () throws -> Value) -> Value {
    do {
        return try body()
    } catch {
        end("\(sentence()): \(error)")
    }
}

private func end(_ sentence: String) -> Never {
    let line = "broken promise: \(sentence)\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
    abort()
}
