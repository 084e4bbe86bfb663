; JavaScript and TypeScript alike.

;; arithmetic
((binary_expression left: (_) @left operator: _ @at right: (_) @right)
 (#not-match? @left "^(?:['\"`]|.*['\"`]$)") (#not-match? @right "^['\"`]") (#set! one "arithmetic"))

;; augmented_assignment
((augmented_assignment_expression operator: _ @at) (#set! one "assignment"))
((update_expression operator: _ @at) (#set! other "step"))

;; boolean
((binary_expression operator: ["&&" "||"] @at) (#set! other "boolean"))

;; comparison
((binary_expression operator: _ @at) (#set! other "comparison"))

;; loose_equality
((binary_expression operator: _ @at) (#set! other "equality"))

;; changed_constant
((number) @at (#not-below? @at assignment_pattern required_parameter subscript_expression)
 (#set! number))
([(true) (false)] @at (#not-below? @at assignment_pattern required_parameter literal_type)
 (#set! other "flag"))

;; changed_text
((string . (string_fragment) @at .) @string
 (#not-in? @at throw_statement export_statement assignment_pattern)
 (#not-below? @string expression_statement import_attribute pair_pattern)
 (#not-called? @string "require" "import" "Error" "TypeError" "RangeError" "log" "warn")
 (#not-match? @at "^(use (strict|asm)|node:.*|\\.{0,2}/.*)$") (#set! text))

;; removed_sign
((unary_expression operator: ["!" "-" "~"] argument: (_) @argument) @at
 (#set! write "@(argument)"))
((await_expression (_) @argument) @at (#set! write "@(argument)"))

;; swapped_operands
((binary_expression left: (_) @left operator: ["-" "/" "%" "<<" ">>" "<" ">" "<=" ">="] @sign
  right: (_) @right) @at
 (#not-alike? @left @right) (#set! write "@(right) @sign @(left)"))
((binary_expression left: (_) @left operator: ["-" "/" "%" "<<" ">>"] @sign right: (_) @right) @at
 (#alike? @left @right) (#not-eq? @left @right) (#set! write "@(right) @sign @(left)"))

;; dropped_operand
((binary_expression left: (_) @left operator: ["&&" "||" "??"] right: (_) @right) @at
 (#set! write "@(left)"))
((binary_expression left: (_) @left operator: ["&&" "||"] right: (_) @right) @at
 (#set! write "@(right)"))

;; negated_condition
(if_statement condition: (parenthesized_expression
  [(identifier) (call_expression) (member_expression) (subscript_expression) (await_expression)
   (binary_expression operator: ["&&" "||"])] @at)
 (#set! write "!@(at)"))
(while_statement condition: (parenthesized_expression
  [(identifier) (call_expression) (member_expression) (subscript_expression)
   (binary_expression operator: ["&&" "||"])] @at)
 (#set! write "!@(at)"))
(ternary_expression condition:
  [(identifier) (call_expression) (member_expression) (subscript_expression)] @at
 (#set! write "!@(at)"))
((arrow_function body: [(call_expression) (member_expression) (binary_expression
   operator: ["&&" "||"])] @at)
 (#called? @at "filter" "some" "every" "find" "findIndex" "findLast") (#set! write "!@(at)"))

;; swapped_branches
(if_statement consequence: (statement_block) @a alternative: (else_clause (statement_block) @b)
 @at (#set! swap))
((ternary_expression condition: (_) @condition consequence: (_) @a alternative: (_) @b) @at
 (#not-eq? @a @b) (#set! write "@condition ? @(b) : @(a)"))

;; loop_control
((break_statement !label) @at (#set! loop_control))
((continue_statement !label) @at (#set! loop_control))

;; removed_statement
((expression_statement [(augmented_assignment_expression) (update_expression)]) @at (#set! remove))
((expression_statement (assignment_expression)) @at (#set! remove))
((expression_statement (call_expression function: (_) @name)) @at
 (#not-match? @name "^(console|super|require|import|process\\.exit)\\b") (#set! remove))
((expression_statement (await_expression)) @at (#set! remove))

;; removed_guard
((if_statement consequence:
   [(return_statement) (throw_statement) (break_statement) (continue_statement)] !alternative) @at
 (#set! remove))
((if_statement consequence: (statement_block
   [(return_statement) (throw_statement) (break_statement) (continue_statement)] .)
   !alternative) @at
 (#set! remove))

;; removed_wrapper
((if_statement consequence: (statement_block) @body !alternative) @at (#set! write "@body"))
((while_statement condition: (_) @condition body: (statement_block) @body) @at
 (#not-has? @body break_statement continue_statement) (#set! write "if @condition @body"))
((try_statement body: (_) @body) @at (#set! write "@body"))

;; early_return
(statement_block
  [(for_statement body: (statement_block) @at) (for_in_statement body: (statement_block) @at)
   (while_statement body: (statement_block) @at)]
  . (return_statement) @last .
 (#set! append "@last"))
((expression_statement
  [(assignment_expression left: (identifier) @result)
   (augmented_assignment_expression left: (identifier) @result)]) @at
 (#set! at_once))

;; swapped_arguments
((call_expression function: (_) @name arguments: (arguments) @at)
 (#not-match? @name "^(console\\.|require$|import$|Symbol)") (#not-has-child? @at spread_element)
 (#set! arguments))
((new_expression arguments: (arguments) @at) (#not-has-child? @at spread_element)
 (#set! arguments))

;; dropped_argument
((call_expression function: (_) @name arguments: (arguments (_) @at .) @all)
 (#not-match? @name "^(console\\.|require$|import$|super$)") (#many? @all) (#set! item))
((new_expression arguments: (arguments (_) @at .) @all) (#many? @all) (#set! item))

;; off_by_one
(subscript_expression index: (number) @at (#set! shift))
(subscript_expression index: (binary_expression operator: ["+" "-"] right: (number)) @at
 (#set! shift))
((call_expression function: (member_expression property: (_) @name)
  arguments: (arguments [(number) (identifier) (member_expression)] @at))
 (#any-of? @name "slice" "substring" "substr" "splice" "charAt" "at" "charCodeAt" "codePointAt")
 (#set! shift))
((binary_expression left: (_) @left operator: ["+" "-"] right: (number) @one) @at
 (#eq? @one "1") (#not-match? @left "['\"`]") (#set! write "@(left)"))
((binary_expression left: (_) @left operator: ["<" "<=" ">" ">="]
  right: (member_expression property: (_) @name) @at)
 (#any-of? @name "length" "size") (#set! write "@at - 1"))
(for_statement initializer: (_ (variable_declarator value: (number) @at)) (#set! shift))

;; removed_call
((call_expression function: (member_expression object: (_) @owner property: (_) @name)
  arguments: (arguments) @given) @at
 (#any-of? @name "trim" "trimStart" "trimEnd" "toLowerCase" "toUpperCase" "reverse" "sort" "flat"
  "normalize" "toString" "valueOf" "toSorted" "toReversed")
 (#not-below? @at expression_statement) (#set! write "@(owner)"))
((call_expression function: [(identifier) (member_expression)] @name
  arguments: (arguments . (_) @first)) @at
 (#any-of? @name "Math.abs" "Math.floor" "Math.ceil" "Math.round" "Math.trunc" "Number" "String"
  "Boolean" "parseInt" "parseFloat" "BigInt" "Array.from" "Object.freeze" "structuredClone"
  "encodeURIComponent" "decodeURIComponent")
 (#not-below? @at expression_statement) (#not-kind? @first spread_element)
 (#set! write "@(first)"))

;; removed_copy
((array . (spread_element (_) @inner) .) @at (#not-below? @at arguments) (#set! write "@(inner)"))
((object . (spread_element (_) @inner) .) @at (#set! write "@(inner)"))
((call_expression function: (member_expression object: (_) @owner property: (_) @name)
  arguments: (arguments) @given) @at
 (#any-of? @name "slice" "concat") (#match? @given "^\\(\\s*\\)$") (#set! write "@(owner)"))

;; dropped_filter
((call_expression function: (member_expression object: (_) @owner property: (_) @name)) @at
 (#any-of? @name "filter" "slice" "sort" "toSorted" "reverse" "flat" "take" "drop")
 (#not-below? @at expression_statement) (#set! write "@(owner)"))

;; dropped_case
((switch_case) @at (#set! erase))
((switch_default) @at (#set! erase))
((if_statement consequence: (_) @after alternative: (else_clause) @at) (#set! cut))
((if_statement alternative: (else_clause (if_statement consequence: (_) @body
   alternative: (else_clause (_) @rest)) @at))
 (#set! write "@rest"))

;; exception_handling
((catch_clause body: (statement_block (_)) @at) (#set! write "{}"))
((throw_statement (new_expression constructor: (identifier) @at)) (#set! other "error"))
((throw_statement) @at (#set! remove))
((try_statement handler: (_) @after finalizer: (_) @at) (#set! cut))
((call_expression function: (member_expression object: (_) @owner property: (_) @name)) @at
 (#any-of? @name "catch" "finally") (#set! write "@(owner)"))

;; null_handling
((member_expression optional_chain: _ @at) (#set! write "."))
((subscript_expression optional_chain: _ @at) (#set! write ""))
((binary_expression left: (_) @left operator: "??" right: (_) @right) @at
 (#set! write "(@(left) || @(right))"))
((if_statement condition: (parenthesized_expression (binary_expression
   operator: ["===" "=="] right: [(null) (undefined)])) !alternative) @at
 (#set! remove))
((if_statement condition: (parenthesized_expression (unary_expression operator: "!"))
  !alternative) @at (#set! remove))

;; reordered_statements
(_ (expression_statement [(assignment_expression left: (_) @set)
    (augmented_assignment_expression left: (_) @set) (update_expression argument: (_) @set)]) @a
  . (expression_statement) @b @at
 (#mentions? @b @set) (#match? @a ";$") (#match? @b ";$") (#set! swap))
(_ (expression_statement) @a
  . (expression_statement [(assignment_expression left: (_) @set)
    (augmented_assignment_expression left: (_) @set) (update_expression argument: (_) @set)]) @b @at
 (#mentions? @a @set) (#match? @a ";$") (#match? @b ";$") (#set! swap))

;; wrong_call
((call_expression function: (member_expression property: (property_identifier) @at))
 (#set! other "call"))
((call_expression function: (identifier) @at) (#set! other "call"))

;; wrong_iteration
((for_in_statement operator: _ @at) @loop (#not-match? @loop "^for\\s+await")
 (#eq? @at "of") (#set! write "in"))
((for_in_statement operator: _ @at) (#eq? @at "in") (#set! write "of"))

;; wrong_scope
((for_statement initializer: (lexical_declaration kind: "let" @at
   (variable_declarator name: (identifier) @name)))
 (#not-declared? @name) (#set! write "var"))
((for_in_statement kind: ["let" "const"] @at left: (identifier) @name)
 (#not-declared? @name) (#set! write "var"))

;; remove_body
((function_declaration body: (_) @at) (#set! stub))
((generator_function_declaration body: (_) @at) (#set! stub))
((method_definition body: (_) @at) (#set! stub))
((arrow_function body: (statement_block) @at) (#set! stub))
((function_expression body: (_) @at) (#set! stub))

;; wrong_attribute
(member_expression object: (this) @owner property: [(property_identifier)
  (private_property_identifier)] @field)

;; wrong_variable
(variable_declarator name: (identifier) @set value: (_) @value)
(variable_declarator name: (identifier) @set !value)
(variable_declarator name: (array_pattern (identifier) @set))
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @set))
(for_in_statement left: (identifier) @set)
(catch_clause parameter: (identifier) @set)
(arrow_function parameter: (identifier) @set)
(identifier) @read
