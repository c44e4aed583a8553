/// The struct of a service that a ``FakeHost`` offers. It lives until the process ends.
///
/// Unchecked: the struct never changes once it is here.
struct FakeService<Table>: @unchecked Sendable {
    let pointer: UnsafeRawPointer

    init(_ table: Table) {
        let room = UnsafeMutablePointer<Table>.allocate(capacity: 1)
        room.initialize(to: table)
        pointer = UnsafeRawPointer(room)
    }
}
