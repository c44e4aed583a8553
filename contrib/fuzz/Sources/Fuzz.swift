import CLibFuzzer
import Glibc

/// `carillon-fuzz TARGET [libFuzzer's options] [folders of inputs]`
@main
enum Fuzz {
    static func main() {
        let names = FuzzTarget.all.map(\.name)
        guard CommandLine.argc > 1, let name = CommandLine.unsafeArgv[1].map({ String(cString: $0) }),
            let target = FuzzTarget.all.first(where: { $0.name == name })
        else {
            print(names.joined(separator: "\n"))
            exit(CommandLine.argc > 1 ? 2 : 0)
        }
        // libFuzzer reads options from the second argument on, and uses the first to start itself again.
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
        exit(LLVMFuzzerRunDriver(&count, &arguments, target.run))
    }
}
