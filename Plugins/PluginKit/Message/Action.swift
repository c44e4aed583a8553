internal import CarillonABI

/// A button of a notification; borrowed for the duration of a call.
public struct Action {
    private let abi: carillon_action

    init(_ pointer: UnsafePointer<carillon_action>) {
        abi = carillon_action.adopt(pointer)
    }

    /// What the app learns when it is tapped.
    public var id: BorrowedText { BorrowedText(abi.id) }
    /// The button's text, in the device's language; valid as long as the notification.
    public var label: BorrowedText { BorrowedText(abi.label) }
    /// What opens; empty: the notification's own.
    public var url: BorrowedText { BorrowedText(abi.url) }
    /// An SF Symbol name; empty: none.
    public var icon: BorrowedText { BorrowedText(abi.icon) }
}
