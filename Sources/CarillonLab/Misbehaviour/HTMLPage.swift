/// The page of a proxy in trouble.
enum HTMLPage {
    static func text(status: Int) -> String {
        "<html><head><title>\(status)</title></head><body><center><h1>\(status)</h1></center><hr></body></html>\r\n"
    }
}
