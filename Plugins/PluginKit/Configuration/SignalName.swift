/// What a signal can be called: `dm`, `mention` and the like, and what a rules file names besides.
public enum SignalName {
    /// The form in words, for whoever wrote another one.
    public static var form: String { "of 1 to 32 of a-z, 0-9, _ and -" }

    /// Whether a rules file could give a signal that name. Whether one does only the router knows.
    public static func isPossible(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count) && name != "batch"
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
