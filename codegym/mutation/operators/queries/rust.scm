;; arithmetic
((binary_expression left: (_) @left operator: _ @at right: (_) @right)
 (#not-match? @left "\"$") (#not-match? @right "^&|\"") (#not-match? @left " as [A-Za-z0-9_:]+$")
 (#set! one "arithmetic"))

;; augmented_assignment
((compound_assignment_expr operator: _ @at right: (_) @right) (#not-match? @right "^&|\"")
 (#set! one "assignment"))

;; boolean
((binary_expression operator: ["&&" "||"] @at) (#not-in? @at let_chain) (#set! other "boolean"))

;; comparison
((binary_expression left: (_) @left operator: _ @at) (#not-match? @left " as [A-Za-z0-9_:]+$")
 (#set! other "comparison"))

;; changed_constant
([(integer_literal) (float_literal)] @at
 (#not-below? @at field_expression index_expression range_expression field_initializer)
 (#set! number))
((field_initializer value: (integer_literal) @at) (#set! number))
((boolean_literal) @at (#set! other "flag"))

;; changed_text
((string_literal . (string_content) @at .) (#not-match? @at "[{}]")
 (#not-in? @at attribute_item macro_invocation) (#set! text))

;; removed_sign
((unary_expression (_) @operand) @at (#match? @at "^[!-]") (#set! write "@(operand)"))

;; swapped_operands
((binary_expression left: (_) @left operator: ["-" "/" "%" "<" ">" "<=" ">="] @sign
  right: (_) @right) @at
 (#not-eq? @left @right) (#not-match? @right " as [A-Za-z0-9_:]+$") (#set! write "@(right) @sign @(left)"))

;; dropped_operand
((binary_expression left: (_) @left operator: ["&&" "||"]) @at (#not-below? @at let_chain)
 (#set! write "@(left)"))
((binary_expression operator: ["&&" "||"] right: (_) @right) @at (#not-below? @at let_chain)
 (#set! write "@(right)"))

;; negated_condition
(if_expression condition: [(identifier) (call_expression) (field_expression) (index_expression)
  (macro_invocation) (binary_expression operator: ["&&" "||"])] @at
 (#set! write "!@(at)"))
(while_expression condition: [(identifier) (call_expression) (field_expression)
  (binary_expression operator: ["&&" "||"])] @at
 (#set! write "!@(at)"))
(closure_expression body: [(call_expression) (field_expression)] @at
 (#in? @at arguments) 
 (#called? @at "filter" "any" "all" "find" "position" "take_while" "skip_while" "partition") (#set! write "!@(at)"))

;; swapped_branches
(if_expression consequence: (block) @a alternative: (else_clause (block) @b) @at (#set! swap))

;; loop_control
((break_expression) @at (#eq? @at "break") (#set! loop_control))
((continue_expression) @at (#eq? @at "continue") (#set! loop_control))

;; removed_statement
((expression_statement (call_expression)) @at (#match? @at ";$") (#set! remove))
((expression_statement [(assignment_expression) (compound_assignment_expr)]) @at
 (#match? @at ";$") (#set! remove))

;; removed_guard
((expression_statement (if_expression consequence: (block
   [(expression_statement [(return_expression) (break_expression) (continue_expression)])
    (return_expression)] .) !alternative)) @at
 (#set! remove))
((expression_statement (macro_invocation macro: (_) @name)) @at
 (#any-of? @name "assert" "assert_eq" "assert_ne" "debug_assert" "debug_assert_eq" "panic")
 (#not-in? @at mod_item) (#set! remove))

;; removed_wrapper
((expression_statement (if_expression condition: (_) @condition consequence: (block) @body
   !alternative) @at)
 (#not-kind? @condition let_condition let_chain) (#set! write "@body"))
((expression_statement (while_expression condition: (_) @condition body: (block) @body) @at)
 (#not-has? @body break_expression continue_expression) (#not-match? @at "^'")
 (#set! write "if @condition @body"))

;; default_return
(return_expression (_) @at (#set! zero))
(function_item body: (block [(identifier) (call_expression) (binary_expression)
  (field_expression) (struct_expression) (macro_invocation)] @at .)
 (#set! zero))

;; early_return
(function_item body: (block (expression_statement [(for_expression body: (block) @at)
   (while_expression body: (block) @at)])
   . [(identifier) (call_expression)] @last .)
 (#set! append "return @last;"))
((expression_statement [(assignment_expression left: (identifier) @result)
   (compound_assignment_expr left: (identifier) @result)]) @at
 (#set! at_once))

;; swapped_arguments
((call_expression arguments: (arguments) @at) (#not-has-child? @at attribute_item)
 (#set! arguments))

;; off_by_one
(range_expression [".." "..="] @at (_) (#set! other "range"))
(range_expression [(integer_literal) (identifier) (field_expression) (call_expression)] @at
 (#set! shift))
(index_expression (_) [(integer_literal) (binary_expression operator: ["+" "-"]
   right: (integer_literal))] @at
 (#set! shift))
((binary_expression left: (_) @left operator: ["+" "-"] right: (integer_literal) @one) @at
 (#eq? @one "1") (#set! write "@(left)"))
((call_expression function: (field_expression field: (_) @name)
  arguments: (arguments . [(integer_literal) (identifier)] @at .))
 (#any-of? @name "take" "skip" "nth" "truncate" "split_at" "chunks" "windows" "step_by"
  "with_capacity" "get" "remove")
 (#set! shift))

;; removed_call
((call_expression function: (field_expression value: (_) @owner field: (_) @name)
  arguments: (arguments) @given) @at
 (#any-of? @name "abs" "trim" "trim_start" "trim_end" "floor" "ceil" "round" "rev" "to_lowercase"
  "to_uppercase" "to_ascii_lowercase" "to_ascii_uppercase" "signum" "sqrt" "peekable" "fuse"
  "swap_bytes" "reverse_bits" "dedup")
 (#not-below? @at expression_statement) (#set! write "@(owner)"))
((call_expression function: (field_expression value: (_) @owner field: (_) @name)
  arguments: (arguments . (_) @first .)) @at
 (#any-of? @name "min" "max" "saturating_sub" "saturating_add" "wrapping_add" "clamp" "pow" "powi"
  "rem_euclid")
 (#not-below? @at expression_statement) (#set! write "@(owner)"))

;; dropped_filter
((call_expression function: (field_expression value: (_) @owner field: (_) @name)) @at
 (#any-of? @name "filter" "skip" "take" "skip_while" "take_while" "rev" "step_by")
 (#not-below? @at expression_statement) (#set! write "@(owner)"))

;; dropped_case
((match_block (match_arm) @at (match_arm pattern: (match_pattern) @last) .)
 (#eq? @last "_") (#set! erase))
((match_block (match_arm value: (_) @a) . (match_arm value: (_) @b) @at)
 (#alike? @a @b) (#set! swap))
((match_arm pattern: (match_pattern (_) @pattern condition: (_)) @at) (#set! write "@pattern"))
((match_pattern (or_pattern (_) @first (_))) @at (#set! write "@first"))
((expression_statement (if_expression consequence: (_) @after alternative: (else_clause (block))
   @at)) (#set! cut))

;; exception_handling
((try_expression (_) @inner) @at (#set! write "@(inner).unwrap()"))
((call_expression function: (field_expression value: (_) @owner field: (_) @name)
  arguments: (arguments (_))) @at
 (#any-of? @name "unwrap_or" "unwrap_or_else") (#set! write "@(owner).unwrap()"))
((call_expression function: (field_expression value: (_) @owner field: (_) @name)) @at
 (#any-of? @name "map_err" "or_else" "or" "context") (#set! write "@(owner)"))
((return_expression (call_expression function: (_) @name) @at) (#eq? @name "Err")
 (#set! write "Ok(Default::default())"))
((call_expression function: (identifier) @name arguments: (arguments (scoped_identifier)) @given)
 @at
 (#eq? @name "Err") (#set! write "Ok(Default::default())"))

;; null_handling
((call_expression function: (identifier) @name) @at (#eq? @name "Some") (#set! write "None"))
((call_expression function: (field_expression value: (_) @owner field: (_) @name)
  arguments: (arguments (_) @given)) @at
 (#eq? @name "unwrap_or") (#set! write "@(owner).unwrap_or_default()"))
((expression_statement (if_expression condition: (let_condition) !alternative)) @at
 (#set! remove))
((if_expression condition: (call_expression function: (field_expression field: (_) @name))
  !alternative) @at
 (#any-of? @name "is_none" "is_empty" "is_err") (#below? @at expression_statement) (#set! erase))

;; resource_handling
((expression_statement (call_expression function: [(identifier) @name
   (field_expression field: (_) @name)])) @at
 (#any-of? @name "drop" "lock" "unlock" "flush" "join" "close" "sync_all" "wait" "notify_all"
  "notify_one")
 (#set! remove))

;; removed_modifier
((attribute_item) @at (#match? @at "^#\\[(inline|must_use|repr|serde|non_exhaustive)")
 (#set! erase))
((impl_item trait: (_) body: (declaration_list (function_item) @at (function_item)))
 (#set! erase))

;; reordered_statements
(block (expression_statement [(assignment_expression left: (_) @set)
    (compound_assignment_expr left: (_) @set)]) @a
  . (expression_statement) @b @at
 (#mentions? @b @set) (#match? @a ";$") (#match? @b ";$") (#set! swap))
(block (expression_statement) @a
  . (expression_statement [(assignment_expression left: (_) @set)
    (compound_assignment_expr left: (_) @set)]) @b @at
 (#mentions? @a @set) (#match? @a ";$") (#match? @b ";$") (#set! swap))

;; narrowed_type
((type_cast_expression value: (_) @value type: (primitive_type) @type) @at
 (#any-of? @type "u64" "i64" "usize" "isize" "u128" "i128")
 (#set! write "@(value) as u16 as @type"))
((type_cast_expression value: (_) @value type: (primitive_type) @type) @at
 (#eq? @type "f64") (#set! write "@(value) as f32 as f64"))

;; wrong_call
((call_expression function: (field_expression field: (field_identifier) @at))
 (#set! other "call"))
((call_expression function: (generic_function function: (field_expression
   field: (field_identifier) @at)))
 (#set! other "call"))

;; remove_body
((function_item body: (_) @at) (#set! stub))

;; wrong_attribute
(field_expression value: [(self) (identifier)] @owner field: (field_identifier) @field)
(field_declaration name: (field_identifier) @declared type: (_) @type)

;; wrong_variable
(parameter pattern: (identifier) @set type: (_) @type)
(let_declaration pattern: (identifier) @set type: (_) @type)
(let_declaration pattern: (identifier) @set !type value: (_) @value)
(let_declaration pattern: (identifier) @set !type !value)
(let_declaration pattern: (tuple_pattern (identifier) @set))
(for_expression pattern: (identifier) @set)
(for_expression pattern: (tuple_pattern (identifier) @set))
(closure_parameters (identifier) @set)
(identifier) @read
