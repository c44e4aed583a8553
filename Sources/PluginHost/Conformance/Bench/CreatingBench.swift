/// Something under check that is created with a configuration.
protocol CreatingBench: AnyObject {
    /// What it can be created with, once that is known.
    var configuration: String? { get set }
    /// The configuration that whoever runs the check gave.
    var given: String? { get }
    /// Everything it refused in words.
    var refusals: [(what: String, refusal: Refusal)] { get }

    /// Tells what happens now, in case it is the last thing that happens.
    func at(_ what: String)
    func note(_ refusal: Refusal, of what: String)
    /// Asks for an instance with any configuration, and destroys it.
    func tryToCreate(_ configuration: [UInt8], capacity: Int) -> Refusal
}
